// Embeddings without a network: the average of small word vectors that come with the Worker, for what words mean, beside hashed
// pieces of words, for what no list of words has (names, code, other scripts). A pure function of the text, so an index that
// holds them can be made again anywhere.

import { dims as meaningDims, vectors, words } from './word-vectors.ts'

const spellingDims = 64
/** Shares of the square of the length: what two texts mean counts for more than how they are spelt. */
const meaningShare = 0.8

export const staticModel = { name: 'lares-words-1', dims: meaningDims + spellingDims } as const

/** A vector of length 1; null for a text without a letter or a digit. */
export function embedStatic(text: string): Float32Array | null {
  const meaning = new Float32Array(meaningDims)
  const spelling = new Float32Array(spellingDims)
  let some = false
  for (const word of split(text)) {
    some = true
    addSpelling(spelling, word)
    addMeaning(meaning, word)
  }
  return some ? joined(meaning, spelling) : null
}

/** Words beyond this add little to an average. */
const mostWords = 2000

function split(text: string): string[] {
  const apart = text
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .normalize('NFKC')
    .toLowerCase()
  return (apart.match(/[\p{L}\p{M}]+|\p{N}+/gu) ?? []).slice(0, mostWords)
}

function addMeaning(sum: Float32Array, word: string): void {
  const known = lexicon()
  const rank = known.ranks.get(word)
  if (rank === undefined) return
  const weight = weightOf(rank) * (known.scales[rank] ?? 0)
  const start = rank * meaningDims
  for (let i = 0; i < meaningDims; i++) sum[i] = (sum[i] ?? 0) + (known.vectors[start + i] ?? 0) * weight
}

/** A frequent word says little: smooth inverse frequency (Arora et al., 2017), with Zipf's law for how frequent a rank is. */
function weightOf(rank: number): number {
  const frequency = 0.1 / (rank + 1)
  return 0.001 / (0.001 + frequency)
}

function addSpelling(sum: Float32Array, word: string): void {
  const rank = lexicon().ranks.get(word)
  const weight = rank === undefined ? 1 : weightOf(rank)
  const marked = `<${word.slice(0, 64)}>`
  const pieces = Math.max(1, marked.length - 2)
  // Each word counts the same, long or short: the whole as much as its pieces together.
  add(sum, hash(marked), weight)
  for (let i = 0; i < pieces; i++) add(sum, hash(marked.slice(i, i + 3)), weight / Math.sqrt(pieces))
}

function add(sum: Float32Array, hashed: number, weight: number): void {
  const place = hashed % spellingDims
  sum[place] = (sum[place] ?? 0) + (hashed & 0x10000 ? weight : -weight)
}

/** FNV-1a, mixed once more so that its low bits are as good as its high ones. */
function hash(text: string): number {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d)
  return (h ^ (h >>> 13)) >>> 0
}

function joined(meaning: Float32Array, spelling: Float32Array): Float32Array | null {
  const lengths = [length(meaning), length(spelling)] as const
  if (lengths[0] === 0 && lengths[1] === 0) return null
  const unit = new Float32Array(meaningDims + spellingDims)
  const both = lengths[0] > 0 && lengths[1] > 0
  const scale = (share: number, by: number) => (by === 0 ? 0 : Math.sqrt(both ? share : 1) / by)
  const [first, second] = [scale(meaningShare, lengths[0]), scale(1 - meaningShare, lengths[1])]
  for (const [i, x] of meaning.entries()) unit[i] = x * first
  for (const [i, x] of spelling.entries()) unit[meaningDims + i] = x * second
  return unit
}

function length(vector: Float32Array): number {
  let sum = 0
  for (const x of vector) sum += x * x
  return Math.sqrt(sum)
}

interface Lexicon {
  ranks: ReadonlyMap<string, number>
  vectors: Int8Array
  /** What makes each vector one of length 1. */
  scales: Float32Array
}

let loaded: Lexicon | null = null

/** Unpacked when first needed: most requests have no use for it. */
function lexicon(): Lexicon {
  if (loaded !== null) return loaded
  const bytes = Int8Array.from(Buffer.from(vectors, 'base64'))
  const list = words.split(' ')
  const scales = new Float32Array(list.length)
  for (let rank = 0; rank < list.length; rank++) {
    let sum = 0
    for (let i = 0; i < meaningDims; i++) sum += (bytes[rank * meaningDims + i] ?? 0) ** 2
    scales[rank] = 1 / Math.sqrt(sum)
  }
  loaded = { ranks: new Map(list.map((word, rank) => [word, rank])), vectors: bytes, scales }
  return loaded
}
