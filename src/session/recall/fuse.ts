// One order from two: reciprocal rank fusion (Cormack et al., 2009). Ranks and not scores, because a BM25 and a cosine have no
// common measure. Pure.

import type { Hit } from './text.ts'

export interface Fused {
  key: string
  score: number
  why: { text: number | null; vector: number | null }
}

/** How much less a late rank counts; the value of the paper. */
const damping = 60

export function fuse(text: readonly Hit[], vector: readonly Hit[]): Fused[] {
  const found = new Map<string, Fused>()
  for (const [half, hits] of [['text', text] as const, ['vector', vector] as const]) {
    for (const [rank, { key, score }] of hits.entries()) {
      const one = found.get(key) ?? { key, score: 0, why: { text: null, vector: null } }
      one.score += 1 / (damping + rank + 1)
      one.why[half] = score
      found.set(key, one)
    }
  }
  return inOrder([...found.values()])
}

/** The order of one half alone, under its own scores. */
export function alone(half: 'text' | 'vector', hits: readonly Hit[]): Fused[] {
  return inOrder(
    hits.map(({ key, score }) => ({
      key,
      score,
      why: { text: null, vector: null, [half]: score },
    })),
  )
}

function inOrder(found: Fused[]): Fused[] {
  return found.sort((one, other) => other.score - one.score || (one.key < other.key ? -1 : 1))
}
