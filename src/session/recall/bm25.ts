// The formula by which FTS5 ranks (`bm25()`), for versions that its index no longer describes. The numbers are SQLite's own, so
// that the same memories rank the same whether they are found at the head or in the past. Pure.

const k1 = 1.2
const b = 0.75

/** One document: its length in words, and how often each phrase of the question occurs in it. */
export interface Counted {
  length: number
  hits: readonly number[]
}

/** Larger is better. A document without any hit is not to be asked about. */
export function ranker(
  documents: number,
  totalLength: number,
  documentsWith: readonly number[],
): (one: Counted) => number {
  const average = documents === 0 ? 1 : totalLength / documents
  const weights = documentsWith.map((n) => {
    const weight = Math.log((documents - n + 0.5) / (n + 0.5))
    return weight <= 0 ? 1e-6 : weight
  })
  return ({ length, hits }) => {
    let score = 0
    for (const [phrase, times] of hits.entries()) {
      const weight = weights[phrase] ?? 0
      score += weight * ((times * (k1 + 1)) / (times + k1 * (1 - b + (b * length) / average)))
    }
    return score
  }
}
