// Re-embedding as work behind the answer: memories that have no vector of the session's model get one, a batch at a time, with no
// lock held while the provider is asked. What is to be done is not listed anywhere: it is what the index shows to be missing, so
// nothing can be forgotten, and a mark only says when to look.

import { EmbeddingFailed, embedderOf } from '../../embed/provider.ts'
import type { Env } from '../../env.ts'
import { packFloats } from '../../protocol/vectors.ts'
import type { World } from '../world.ts'
import { embedMemories, unembedded } from './reembed.ts'
import { spaceOf } from './settings.ts'
import { dueMark, isStale } from './upkeep.ts'

const memoriesPerStep = 100
/** Milliseconds before a provider that failed is asked again; the last one from then on. */
const pauses = [5_000, 30_000, 120_000, 600_000]

export class EmbeddingsDue {
  readonly #world: World
  readonly #env: Env
  /** Resolves when the index speaks of all there is. */
  readonly #indexed: () => Promise<unknown>
  readonly #committed: () => void
  #running: Promise<void> | null = null
  #failures = 0

  constructor(world: World, env: Env, indexed: () => Promise<unknown>, committed: () => void) {
    this.#world = world
    this.#env = env
    this.#indexed = indexed
    this.#committed = committed
  }

  /** When there is something to do, epoch milliseconds; null for never. While a step runs, a look again later, should it be cut off. */
  due(): number | null {
    if (this.#world.state !== 'live') return null
    if (this.#running !== null) return Date.now() + 30_000
    const mark = this.#world.meta(dueMark)
    return mark === null ? null : Number(mark)
  }

  /** Takes up what is due, and returns at once. */
  start(): void {
    const due = this.due()
    if (this.#running !== null || due === null || due > Date.now()) return
    this.#running = this.#step()
      .catch((error) =>
        console.warn('memories were not embedded', error instanceof Error ? error.message : 'unknown'),
      )
      .finally(() => {
        this.#running = null
        this.#committed()
      })
  }

  async #step(): Promise<void> {
    const world = this.#world
    if (isStale(world)) await this.#indexed()
    if (world.state !== 'live') return
    const space = spaceOf(world)
    const lacking = unembedded(world, memoriesPerStep)
    const embedder = embedderOf(this.#env, space)
    if (lacking.length === 0 || embedder === null) return world.dropMeta(dueMark)
    try {
      const vectors = await embedder.embed(lacking.map(({ text }) => text))
      this.#failures = 0
      if (world.state !== 'live') return
      const given = lacking.flatMap(({ id, digest }, i) => {
        const vector = vectors[i]
        return vector === undefined
          ? []
          : [{ id, digest, embedding: { model: embedder.model, data: packFloats(vector) } }]
      })
      // The session's own work, which its settings ask for: it passes a lease, and takes none.
      embedMemories(world, { actor: 'lares:embedded' }, given, true)
    } catch (error) {
      if (!(error instanceof EmbeddingFailed)) throw error
      const pause = pauses[Math.min(this.#failures++, pauses.length - 1)] ?? 0
      if (world.state === 'live') world.setMeta(dueMark, String(Date.now() + pause))
    }
  }
}
