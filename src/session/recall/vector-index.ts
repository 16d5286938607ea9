// The vectors of one model in memory, a byte a number: 19 MB for 50,000 of 384. A search goes over them in up to three passes,
// each nearer to the truth and over fewer: two bits a number by table, a byte a number, and (by the caller) the exact numbers.

const chunk = 4096
/** Fewer than this are all looked at a byte a number. */
const coarseFrom = 8192
/** How many the coarse pass leaves at least. */
const coarseKeeps = 2048
const chunksAtOnce = 3

interface Chunk {
  docs: Float64Array
  scales: Float32Array
  bytes: Int8Array
  /** Four numbers a byte; null until there are enough vectors to need it. */
  codes: Uint8Array | null
}

export interface Near {
  doc: number
  /** About the cosine; true to within `error`. */
  score: number
  error: number
}

export class VectorIndex {
  readonly dims: number
  readonly #chunks: Chunk[] = []
  readonly #slots = new Map<number, number>()
  #used = 0
  #coder: Coder | null = null

  constructor(dims: number) {
    this.dims = dims
  }

  get size(): number {
    return this.#slots.size
  }

  /** About what it takes in memory. */
  get bytes(): number {
    const perSlot = 40
    let sum = this.#slots.size * perSlot
    for (const { docs, scales, bytes, codes } of this.#chunks)
      sum += docs.byteLength + scales.byteLength + bytes.byteLength + (codes?.byteLength ?? 0)
    return sum
  }

  /** Sets a document's vector, as `quantised` wrote it. */
  set(doc: number, stored: Uint8Array): void {
    const known = this.#slots.get(doc)
    const slot = known ?? this.#used++
    if (known === undefined) this.#slots.set(doc, slot)
    const at = this.#chunkOf(slot)
    const row = slot % chunk
    at.docs[row] = doc
    at.scales[row] = new DataView(stored.buffer, stored.byteOffset).getFloat32(0, true)
    at.bytes.set(new Int8Array(stored.buffer, stored.byteOffset + 4, this.dims), row * this.dims)
    if (at.codes !== null) this.#coder?.encode(at, row, 1)
  }

  /** The last takes the place of one that goes. */
  delete(doc: number): void {
    const slot = this.#slots.get(doc)
    if (slot === undefined) return
    const last = --this.#used
    this.#slots.delete(doc)
    if (slot === last) return
    const [from, to] = [this.#chunkOf(last), this.#chunkOf(slot)]
    const [source, target] = [last % chunk, slot % chunk]
    const moved = from.docs[source] ?? 0
    to.docs[target] = moved
    to.scales[target] = from.scales[source] ?? 0
    const { dims } = this
    to.bytes.set(from.bytes.subarray(source * dims, (source + 1) * dims), target * dims)
    if (to.codes !== null) this.#coder?.encode(to, target, 1)
    this.#slots.set(moved, slot)
  }

  /**
   * The nearest to a vector of length 1, best first, with all whose error might make them so.
   *
   * @param among only these; null for all
   */
  nearest(query: Float32Array, k: number, among: Float64Array | null): Near[] {
    const slots = this.#slotsOf(among)
    const count = slots?.length ?? this.#used
    if (count === 0) return []
    const looked = count > coarseFrom ? this.#coarse(query, Math.max(coarseKeeps, 20 * k), slots) : slots
    return this.#near(query, k, looked)
  }

  #slotsOf(among: Float64Array | null): Int32Array | null {
    if (among === null) return null
    const slots = new Int32Array(among.length)
    let n = 0
    for (const doc of among) {
      const slot = this.#slots.get(doc)
      if (slot !== undefined) slots[n++] = slot
    }
    return slots.subarray(0, n)
  }

  /** The best few by two bits a number, where those are known already. */
  #coarse(query: Float32Array, keep: number, slots: Int32Array | null): Int32Array {
    const coder = this.#prepare()
    const table = coder.table(query)
    const scores = new Float32Array(slots?.length ?? this.#used)
    if (slots === null) {
      for (const [i, at] of this.#chunks.entries()) {
        const first = i * chunk
        const rows = Math.min(chunk, this.#used - first)
        if (at.codes !== null) coder.score(table, at.codes, 0, rows, scores, first)
        else for (let row = 0; row < rows; row++) scores[first + row] = this.#product(query, at, row)
      }
    } else {
      for (let n = 0; n < slots.length; n++) {
        const slot = slots[n] ?? 0
        const at = this.#chunkOf(slot)
        const row = slot % chunk
        if (at.codes !== null) coder.score(table, at.codes, row * coder.groups, 1, scores, n)
        else scores[n] = this.#product(query, at, row)
      }
    }
    const best = largest(scores, keep)
    return slots === null ? best : best.map((n) => slots[n] ?? 0)
  }

  /** The nearest by a byte a number, and all that are no farther than their error from them. */
  #near(query: Float32Array, k: number, slots: Int32Array | null): Near[] {
    const count = slots?.length ?? this.#used
    const scores = new Float32Array(count)
    for (let n = 0; n < count; n++) {
      const slot = slots === null ? n : (slots[n] ?? 0)
      scores[n] = this.#product(query, this.#chunkOf(slot), slot % chunk)
    }
    const show = (n: number): Near => {
      const slot = slots === null ? n : (slots[n] ?? 0)
      const { docs, scales } = this.#chunkOf(slot)
      // Each number is off by half a step at most, and the query has length 1.
      const error = ((scales[slot % chunk] ?? 0) * Math.sqrt(this.dims)) / 2
      return { doc: docs[slot % chunk] ?? 0, score: scores[n] ?? 0, error }
    }
    const inOrder = (near: Near[]) =>
      near.sort((one, other) => other.score - one.score || one.doc - other.doc)
    const best = inOrder([...largest(scores, k)].map(show))
    const bar = best[Math.min(k, best.length) - 1]
    if (bar === undefined) return []
    const near: Near[] = []
    // No scale is larger than that of a vector with all its length in one number.
    const reach = bar.score - bar.error - Math.sqrt(this.dims) / 254
    for (let n = 0; n < count; n++) {
      if ((scores[n] ?? 0) < reach) continue
      const one = show(n)
      if (one.score + one.error >= bar.score - bar.error) near.push(one)
    }
    return inOrder(near)
  }

  #product(query: Float32Array, { bytes, scales }: Chunk, row: number): number {
    const { dims } = this
    let sum = 0
    for (let i = 0, o = row * dims; i < dims; i++, o++) sum += (bytes[o] ?? 0) * (query[i] ?? 0)
    return sum * (scales[row] ?? 0)
  }

  /** Codes of a few more, so that the first questions after a start share the work. */
  #prepare(): Coder {
    this.#coder ??= new Coder(this.dims, this.#sample())
    let left = chunksAtOnce
    for (const [i, at] of this.#chunks.entries()) {
      if (at.codes !== null) continue
      if (left-- === 0) break
      at.codes = new Uint8Array(chunk * this.#coder.groups)
      this.#coder.encode(at, 0, Math.min(chunk, this.#used - i * chunk))
    }
    return this.#coder
  }

  *#sample(): Generator<Float32Array> {
    const step = Math.max(1, Math.floor(this.#used / 1024))
    for (let slot = 0; slot < this.#used; slot += step) {
      const { bytes, scales } = this.#chunkOf(slot)
      const row = slot % chunk
      const scale = scales[row] ?? 0
      yield Float32Array.from(bytes.subarray(row * this.dims, (row + 1) * this.dims), (x) => x * scale)
    }
  }

  #chunkOf(slot: number): Chunk {
    const index = Math.floor(slot / chunk)
    let at = this.#chunks[index]
    if (at === undefined) {
      at = {
        docs: new Float64Array(chunk),
        scales: new Float32Array(chunk),
        bytes: new Int8Array(chunk * this.dims),
        codes: null,
      }
      this.#chunks[index] = at
    }
    return at
  }
}

/** Two bits a number: which of four steps around the number's own mean it lies on. Steps are those that lose least of a bell curve. */
class Coder {
  readonly groups: number
  readonly #dims: number
  readonly #mean: Float32Array
  readonly #deviation: Float32Array
  /** Between the first and the second of the four, the second and the third, the third and the fourth. */
  readonly #steps: readonly [Float32Array, Float32Array, Float32Array]

  constructor(dims: number, sample: Iterable<Float32Array>) {
    this.#dims = dims
    this.groups = Math.ceil(dims / 4)
    const sum = new Float64Array(dims)
    const squares = new Float64Array(dims)
    let n = 0
    for (const vector of sample) {
      n++
      for (let i = 0; i < dims; i++) {
        const x = vector[i] ?? 0
        sum[i] = (sum[i] ?? 0) + x
        squares[i] = (squares[i] ?? 0) + x * x
      }
    }
    this.#mean = Float32Array.from(sum, (total) => total / n)
    this.#deviation = Float32Array.from(squares, (total, i) =>
      Math.sqrt(Math.max(1e-12, total / n - (this.#mean[i] ?? 0) ** 2)),
    )
    const step = (by: number) => this.#mean.map((mean, i) => mean + by * (this.#deviation[i] ?? 0))
    this.#steps = [step(-0.9816), step(0), step(0.9816)]
  }

  encode({ bytes, scales, codes }: Chunk, first: number, rows: number): void {
    if (codes === null) return
    const dims = this.#dims
    const [low, middle, high] = this.#steps
    for (let row = first; row < first + rows; row++) {
      const scale = scales[row] ?? 0
      let o = row * dims
      let c = row * this.groups
      for (let i = 0; i < dims; c++) {
        let code = 0
        for (let shift = 0; shift < 8 && i < dims; shift += 2, i++, o++) {
          const x = (bytes[o] ?? 0) * scale
          // Sums of comparisons: of a choice between four, a processor guesses most wrong.
          code |= (+(x >= (low[i] ?? 0)) + +(x >= (middle[i] ?? 0)) + +(x >= (high[i] ?? 0))) << shift
        }
        codes[c] = code
      }
    }
  }

  /** For each group of four numbers and each of its 256 codes, what it adds to the product with a vector. */
  table(query: Float32Array): Float32Array {
    const table = new Float32Array(this.groups * 256)
    const levels = [-1.51, -0.4528, 0.4528, 1.51] as const
    for (let group = 0; group < this.groups; group++) {
      for (let code = 0; code < 256; code++) {
        let sum = 0
        for (let j = 0; j < 4; j++) {
          const i = group * 4 + j
          if (i >= this.#dims) break
          const level = levels[(code >> (2 * j)) & 3] ?? 0
          sum += (query[i] ?? 0) * ((this.#mean[i] ?? 0) + (this.#deviation[i] ?? 0) * level)
        }
        table[group * 256 + code] = sum
      }
    }
    return table
  }

  score(
    table: Float32Array,
    codes: Uint8Array,
    first: number,
    rows: number,
    scores: Float32Array,
    to: number,
  ): void {
    const { groups } = this
    for (let row = 0, c = first; row < rows; row++) {
      let sum = 0
      for (let group = 0, t = 0; group < groups; group++, t += 256, c++)
        sum += table[t + (codes[c] ?? 0)] ?? 0
      scores[to + row] = sum
    }
  }
}

/** Places of the largest numbers, in no order: by a histogram, so that one pass finds the bar. */
function largest(scores: Float32Array, keep: number): Int32Array {
  if (scores.length <= keep) return Int32Array.from(scores, (_, i) => i)
  let low = Number.POSITIVE_INFINITY
  let high = Number.NEGATIVE_INFINITY
  for (const score of scores) {
    if (score < low) low = score
    if (score > high) high = score
  }
  const buckets = 4096
  const width = (high - low) / buckets || 1
  const counts = new Int32Array(buckets + 1)
  const bucketOf = (score: number) => Math.min(buckets, Math.floor((score - low) / width))
  for (const score of scores) {
    const bucket = bucketOf(score)
    counts[bucket] = (counts[bucket] ?? 0) + 1
  }
  let bar = buckets
  for (let n = counts[bar] ?? 0; n < keep && bar > 0; ) n += counts[--bar] ?? 0
  const chosen: number[] = []
  for (let i = 0; i < scores.length; i++) if (bucketOf(scores[i] ?? low) >= bar) chosen.push(i)
  return Int32Array.from(chosen)
}
