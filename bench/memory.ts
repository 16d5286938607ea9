// Recall over many memories: how fast it is, warm and on an object that has just been thrown out of memory, and how true.

import type { Figure, Suite } from './suite.ts'
import type { Call, Connections } from './support/load.ts'
import { median, quantile } from './support/statistics.ts'

const memories = 50_000
const dims = 384
const clusters = 500
const perCommit = 500
const questions = 20

export const benchMemory: Suite = {
  name: 'memory',
  about: `recall over ${memories.toLocaleString('en')} memories with vectors of ${dims} dimensions`,
  async run(stage) {
    const on = await stage.connect('instrumented', 1)
    const session = await stage.session(on)
    const chance = seeded(7)
    const world = made(chance)
    const filled = await fill(on, session, world)
    const asked = Array.from({ length: questions }, (_, i) => near(world.centres, i * 17, chance))
    const vector = (more: object = {}) =>
      calls(
        session,
        asked.map((v) => ({ vector: v, k: 10, ...more })),
      )
    const text = (more: object = {}) =>
      calls(
        session,
        Array.from({ length: questions }, () => ({ query: words(chance, 3), mode: 'text', ...more })),
      )
    const cold = await coldStarts(on, session, vector)
    const warm = await latencies(on, stage.rounds, vector())
    return [
      atMost('by vector, warm, 95 of 100', quantile(warm, 0.95), 60, `median ${median(warm).toFixed(1)} ms`),
      atMost('by vector, on a cold object', median(cold), 600, `of ${cold.length}; loads every vector`),
      {
        what: 'of the true nearest 10 found',
        measured: await trueness(on, session, world.vectors, asked),
        unit: 'x',
        target: { atLeast: 0.99 },
        note: `${questions} questions, ${clusters} clusters`,
      },
      ...(await byText(on, stage.rounds, text())),
      info(
        'by vector over the tenth that a filter leaves',
        await latencies(on, 3, vector({ filter: { '/meta/n': 3 } })),
      ),
      info(
        'by both',
        await latencies(
          on,
          3,
          calls(
            session,
            asked.map((v) => ({ vector: v, query: words(chance, 3) })),
          ),
        ),
      ),
      info('at the version before, by vector and words', await past(on, session, asked[0] ?? [])),
      {
        what: 'memories added',
        measured: (memories / filled) * 1000,
        unit: '/s',
        note: `${perCommit} a commit`,
      },
      ...(await rows(on, session)),
    ]
  },
}

interface World {
  centres: Float32Array[]
  vectors: Float32Array[]
}

function made(chance: () => number): World {
  const centres = Array.from({ length: clusters }, () => unit(() => gauss(chance)))
  const vectors = Array.from({ length: memories }, (_, i) => Float32Array.from(near(centres, i, chance)))
  return { centres, vectors }
}

/** A vector of length 1 near one of the centres: memories lie in heaps, not evenly. */
function near(centres: readonly Float32Array[], i: number, chance: () => number): number[] {
  const centre = centres[i % centres.length] ?? new Float32Array(dims)
  const noise = unit(() => gauss(chance))
  return [...unit((j) => (centre[j] ?? 0) + 0.7 * (noise[j] ?? 0))]
}

async function fill(on: Connections, session: string, { vectors }: World): Promise<number> {
  const chance = seeded(11)
  const start = performance.now()
  for (let first = 0; first < memories; first += perCommit) {
    const ops = Array.from({ length: perCommit }, (_, i) => ({
      op: 'memory.add',
      text: words(chance, 25),
      meta: { n: (first + i) % 10 },
      vector: [...(vectors[first + i] ?? [])],
    }))
    await on.ask({ method: 'POST', path: `${session}/commits`, body: JSON.stringify({ ops }) })
  }
  return performance.now() - start
}

function calls(session: string, bodies: readonly object[]): Call[] {
  return bodies.map((body) => ({ method: 'POST', path: `${session}/recall`, body: JSON.stringify(body) }))
}

async function latencies(on: Connections, rounds: number, of: readonly Call[]): Promise<number[]> {
  let n = 0
  // The first ones warm up, and are left out.
  const times = await on.latencies(of.length * rounds + 5, () => of[n++ % of.length] ?? of[0] ?? never())
  return times.slice(5)
}

async function coldStarts(on: Connections, session: string, vector: () => Call[]): Promise<number[]> {
  const times: number[] = []
  for (const call of vector().slice(0, 6)) {
    await on.ask({ method: 'GET', path: session }, { 'bench-evict': 'yes' })
    const start = performance.now()
    await on.ask(call)
    times.push(performance.now() - start)
  }
  return times
}

/** The share of the nearest ten, by every exact number, that recall found. */
async function trueness(
  on: Connections,
  session: string,
  vectors: readonly Float32Array[],
  asked: readonly number[][],
): Promise<number> {
  const listed = new Map<string, number>()
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path: string = `${session}/memories?limit=1000${cursor === '' ? '' : `&cursor=${cursor}`}`
    const { items, next } = JSON.parse((await on.ask({ method: 'GET', path })).text)
    // Ids are in the order in which they were added.
    for (const { id } of items) listed.set(id, listed.size)
    cursor = next
  }
  let found = 0
  for (const question of asked) {
    const best = vectors
      .map((v, i) => ({ i, score: v.reduce((sum, x, j) => sum + x * (question[j] ?? 0), 0) }))
      .sort((a, b) => b.score - a.score)
      .slice(0, 10)
    const [call = never()] = calls(session, [{ vector: question, k: 10 }])
    const { items }: { items: { id: string }[] } = JSON.parse((await on.ask(call)).text)
    const got = new Set(items.map(({ id }) => listed.get(id)))
    found += best.filter(({ i }) => got.has(i)).length
  }
  return found / (asked.length * 10)
}

async function byText(on: Connections, rounds: number, of: readonly Call[]): Promise<Figure[]> {
  const times = await latencies(on, rounds, of)
  return [
    atMost('by three words', median(times), 20, `95 of 100 within ${quantile(times, 0.95).toFixed(1)} ms`),
  ]
}

async function past(on: Connections, session: string, vector: readonly number[]): Promise<number[]> {
  const { version } = JSON.parse((await on.ask({ method: 'GET', path: session })).text)
  return on.latencies(
    2,
    () => calls(session, [{ vector, query: `${word(1)} ${word(2)}`, at: version - 1 }])[0] ?? never(),
  )
}

async function rows(on: Connections, session: string): Promise<Figure[]> {
  const written = async (call: Call) =>
    Number((await on.ask(call, { 'bench-count': 'yes' })).headers['bench-rows-written'])
  const add = { text: 'a memory of its own', vector: Array.from({ length: dims }, () => 0.1) }
  return [
    {
      what: 'rows written by adding one',
      measured: await written({ method: 'POST', path: `${session}/memories`, body: JSON.stringify(add) }),
      unit: 'rows',
      target: { atMost: 4 },
      note: 'entry, commit, words, vector',
    },
  ]
}

function atMost(what: string, measured: number, most: number, note: string): Figure {
  return { what, measured, unit: 'ms', target: { atMost: most }, note }
}

function info(what: string, times: readonly number[]): Figure {
  return {
    what,
    measured: median(times),
    unit: 'ms',
    note: `95 of 100 within ${quantile(times, 0.95).toFixed(1)} ms`,
  }
}

/** Words of a language of 20,000, a few of them frequent; of one length, so that none begins another. */
function words(chance: () => number, count: number): string {
  return Array.from({ length: count }, () => word(Math.floor(chance() ** 3 * 20_000))).join(' ')
}

function word(rank: number): string {
  const syllable = (n: number) => `${'bdfgklmnprstvz'[n % 14]}${'aeiou'[Math.floor(n / 14) % 5]}`
  return syllable(rank % 70) + syllable(Math.floor(rank / 70) % 70) + syllable(Math.floor(rank / 4900))
}

function unit(of: (i: number) => number): Float32Array {
  const vector = Float32Array.from({ length: dims }, (_, i) => of(i))
  const length = Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0))
  return vector.map((x) => x / length)
}

function gauss(chance: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance())
}

/** mulberry32: the same memories every time. */
function seeded(seed: number): () => number {
  let a = seed
  return () => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

function never(): never {
  throw new Error('there is always a call')
}
