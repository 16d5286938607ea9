// Reading many blobs one after the other: those that lie side by side in a pack come from R2 together.

import { fail } from '../protocol/errors.ts'
import type { Place } from '../session/blob-rpc.ts'
import { Problem } from './reply.ts'

/** A stretch of a pack up to this size is read at once. */
const spanBytes = 16 * 1024 * 1024

export interface Placed {
  size: number
  /** Null when the bytes are lost. */
  place: Place | null
}

/** Reads blobs, and keeps the last stretch of a pack that it read for the files that follow. */
export class Spans {
  readonly #bucket: R2Bucket
  #span: { key: string; start: number; bytes: Uint8Array } | null = null

  constructor(bucket: R2Bucket) {
    this.#bucket = bucket
  }

  async read(
    { place, size }: Placed,
    following: readonly Placed[],
  ): Promise<Uint8Array | ReadableStream<Uint8Array>> {
    if (place === null) throw new Problem(fail('corrupt', 'the bytes are missing'))
    if ('bytes' in place) return place.bytes
    if (size === 0) return new Uint8Array()
    const kept = this.#within(place, size)
    if (kept !== null) return kept
    const { start, end, count } = stretch(place.key, following)
    if (count > 1 && end - start <= spanBytes) {
      const object = await this.#get(place.key, start, end - start)
      this.#span = { key: place.key, start, bytes: new Uint8Array(await object.arrayBuffer()) }
      return this.#within(place, size) ?? new Uint8Array()
    }
    return (await this.#get(place.key, place.start, size)).body
  }

  #within({ key, start }: { key: string; start: number }, size: number): Uint8Array | null {
    const span = this.#span
    if (span === null || span.key !== key || start < span.start) return null
    const from = start - span.start
    return from + size <= span.bytes.byteLength ? span.bytes.subarray(from, from + size) : null
  }

  async #get(key: string, offset: number, length: number): Promise<R2ObjectBody> {
    const object = await this.#bucket.get(key, { range: { offset, length } })
    if (object === null) throw new Problem(fail('corrupt', 'the bytes are missing'))
    return object
  }
}

/** From where to where the files of a page lie in one object. */
function stretch(key: string, files: readonly Placed[]): { start: number; end: number; count: number } {
  let start = Number.POSITIVE_INFINITY
  let end = 0
  let count = 0
  for (const { place, size } of files) {
    if (!isIn(place, key)) continue
    start = Math.min(start, place.start)
    end = Math.max(end, place.start + size)
    count++
  }
  return { start, end, count }
}

function isIn(place: Place | null, key: string): place is { key: string; start: number } {
  return place !== null && 'key' in place && place.key === key
}
