import { describe, expect, it } from 'vitest'
import { dot, normalised, quantised } from '../../src/session/recall/quantise.ts'
import { VectorIndex } from '../../src/session/recall/vector-index.ts'

/** mulberry32: the same vectors every time. */
function seeded(seed: number): () => number {
  let a = seed
  return () => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

type Maker = (chance: () => number, dims: number) => Float32Array

const gauss = (chance: () => number) =>
  Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance())

const even: Maker = (chance, dims) => unit(Float32Array.from({ length: dims }, () => gauss(chance)))

/** In heaps, most of its numbers small, some far from zero for all: as embeddings of text are. */
function heaps(count: number): Maker {
  const centres = new Map<number, Float32Array>()
  return (chance, dims) => {
    const place = Math.floor(chance() * count)
    const centre = centres.get(place) ?? even(seeded(place), dims)
    centres.set(place, centre)
    const noise = even(chance, dims)
    return unit(centre.map((x, i) => x + 0.6 * (noise[i] ?? 0) + (i % 50 === 0 ? 0.3 : 0)))
  }
}

function unit(vector: Float32Array): Float32Array {
  const found = normalised(vector)
  if (found === null) throw new Error('no direction')
  return found
}

function built(count: number, dims: number, make: Maker, chance: () => number) {
  const index = new VectorIndex(dims)
  const vectors: Float32Array[] = []
  for (let doc = 0; doc < count; doc++) {
    const vector = make(chance, dims)
    vectors.push(vector)
    index.set(doc, quantised(vector))
  }
  return { index, vectors }
}

/** The share of the true nearest that are among what the index says must be looked at. */
function recallAt(
  k: number,
  { index, vectors }: ReturnType<typeof built>,
  questions: Float32Array[],
): number {
  let found = 0
  for (const question of questions) {
    const truth = vectors
      .map((vector, doc) => ({ doc, score: dot(vector, question) }))
      .sort((one, other) => other.score - one.score)
      .slice(0, k)
    const near = new Set(index.nearest(question, k, null).map(({ doc }) => doc))
    found += truth.filter(({ doc }) => near.has(doc)).length
  }
  return found / (k * questions.length)
}

describe('the vectors in memory', () => {
  for (const [name, make] of [
    ['even', even],
    ['in heaps', heaps(40)],
  ] as const) {
    it(`recall@10 is at least 0.99 against brute force, over 20,000 ${name}`, () => {
      const chance = seeded(1)
      const made = built(20_000, 128, make, chance)
      const questions = Array.from({ length: 25 }, () => make(chance, 128))
      expect(recallAt(10, made, questions)).toBeGreaterThanOrEqual(0.99)
    })
  }

  it('misses nothing where they are few', () => {
    const chance = seeded(2)
    const made = built(3000, 64, even, chance)
    expect(
      recallAt(
        50,
        made,
        Array.from({ length: 10 }, () => even(chance, 64)),
      ),
    ).toBe(1)
  })

  it('take at most 40 MiB for 50,000 of 384 dimensions', () => {
    const index = new VectorIndex(384)
    const one = quantised(even(seeded(3), 384))
    for (let doc = 0; doc < 50_000; doc++) index.set(doc, one)
    index.nearest(even(seeded(4), 384), 10, null)
    expect(index.size).toBe(50_000)
    expect(index.bytes).toBeGreaterThan(50_000 * 384)
    expect(index.bytes).toBeLessThan(40 * 1024 * 1024)
  })

  it('look among the given alone, before the nearest are chosen', () => {
    const chance = seeded(5)
    const { index, vectors } = built(12_000, 32, even, chance)
    const question = even(chance, 32)
    const among = Float64Array.from([7, 9000, 11_999, 123_456])
    expect(
      index
        .nearest(question, 10, among)
        .map(({ doc }) => doc)
        .sort((a, b) => a - b),
    ).toEqual([7, 9000, 11_999])
    const many = Float64Array.from({ length: 10_000 }, (_, i) => i)
    const [best] = index.nearest(question, 1, many)
    const truth = vectors
      .slice(0, 10_000)
      .reduce((top, v, i) => (dot(v, question) > dot(vectors[top] ?? v, question) ? i : top), 0)
    expect(best?.doc).toBe(truth)
  })

  it('change, go and come again in any order', () => {
    const chance = seeded(6)
    const index = new VectorIndex(8)
    const model = new Map<number, Float32Array>()
    for (let step = 0; step < 30_000; step++) {
      const doc = Math.floor(chance() * 10_000)
      if (chance() < 0.3) {
        index.delete(doc)
        model.delete(doc)
      } else {
        const vector = even(chance, 8)
        index.set(doc, quantised(vector))
        model.set(doc, vector)
      }
      if (step % 10_000 === 0) index.nearest(even(chance, 8), 5, null)
    }
    expect(index.size).toBe(model.size)
    const question = even(chance, 8)
    const near = index.nearest(question, 20, null)
    for (const { doc, score, error } of near) {
      const truth = model.get(doc)
      if (truth === undefined) throw new Error(`${doc} is gone`)
      expect(Math.abs(dot(truth, question) - score)).toBeLessThanOrEqual(error + 1e-6)
    }
  })
})
