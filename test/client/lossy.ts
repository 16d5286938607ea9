// A network that loses requests on their way and answers on their way back: the case in which a writer cannot know.

import type { Chance } from '../example/chance.ts'

/** A `fetch` that fails with the given probability; of its failures, half come after the edge has done what it was asked. */
export function lossy(chance: Chance, probability: number): typeof fetch {
  return async (input, init) => {
    const lost = chance.next() < probability
    const before = chance.next() < 0.5
    if (lost && before) throw new TypeError('fetch failed: the request was lost')
    const response = await fetch(input, init)
    if (!lost) return response
    await response.arrayBuffer()
    throw new TypeError('fetch failed: the answer was lost')
  }
}
