// Streams of any length in constant memory: read in large pieces, hashed on the way, written to R2 as they come.

import { createHash, type Hash } from 'node:crypto'

/** How much of the beginning is kept, to tell what the bytes are. */
export const headBytes = 256 * 1024
const pieceBytes = 256 * 1024

export interface Source {
  /** The next piece, or null at the end. A piece is good until the next call. */
  next(): Promise<Uint8Array | null>
  cancel(): Promise<void>
}

/** The sender went away, or sent less than it announced. */
export class BodyCutOff extends Error {}

/** A stream as a source of large pieces; small ones would cost a turn of the event loop each. */
export function sourceOf(stream: ReadableStream<Uint8Array>): Source {
  const byob = byobReader(stream)
  if (byob === null) return plainSource(stream)
  let buffer = new ArrayBuffer(pieceBytes)
  return {
    async next() {
      const { value } = await byob.readAtLeast(pieceBytes, new Uint8Array(buffer)).catch(cutOff)
      if (value === undefined || value.byteLength === 0) return null
      buffer = value.buffer
      return value
    },
    cancel: () => byob.cancel(),
  }
}

function byobReader(stream: ReadableStream<Uint8Array>): ReadableStreamBYOBReader | null {
  try {
    return stream.getReader({ mode: 'byob' })
  } catch {
    // A stream made in JavaScript hands out what it has.
    return null
  }
}

function plainSource(stream: ReadableStream<Uint8Array>): Source {
  const reader = stream.getReader()
  return {
    async next() {
      const { value } = await reader.read().catch(cutOff)
      return value ?? null
    },
    cancel: () => reader.cancel(),
  }
}

function cutOff(cause: unknown): never {
  throw new BodyCutOff('a stream was cut off', { cause })
}

/** What has passed: how much, its SHA-256, and how it began. */
export class Passing {
  size = 0
  readonly #hash: Hash | null
  readonly #head = new Uint8Array(headBytes)

  constructor(hashing = true) {
    this.#hash = hashing ? createHash('sha256') : null
  }

  add(piece: Uint8Array): void {
    this.#hash?.update(piece)
    if (this.size < headBytes) this.#head.set(piece.subarray(0, headBytes - this.size), this.size)
    this.size += piece.byteLength
  }

  get head(): Uint8Array {
    return this.#head.subarray(0, Math.min(this.size, headBytes))
  }

  /** Hex; asked for once, at the end. */
  sha256(): string {
    if (this.#hash === null) throw new Error('these bytes were not hashed')
    return this.#hash.digest('hex')
  }
}

/** Reads to the end and keeps nothing. */
export async function drain(source: Source): Promise<Passing> {
  const passing = new Passing()
  for (let piece = await source.next(); piece !== null; piece = await source.next()) passing.add(piece)
  return passing
}

/** Everything up to `most` bytes: whole when the stream ends by then, or what came so far. */
export async function readUpTo(source: Source, most: number): Promise<{ bytes: Uint8Array; ended: boolean }> {
  const pieces: Uint8Array[] = []
  let size = 0
  while (size <= most) {
    const piece = await source.next()
    if (piece === null) return { bytes: Buffer.concat(pieces), ended: true }
    pieces.push(piece.slice())
    size += piece.byteLength
  }
  return { bytes: Buffer.concat(pieces), ended: false }
}

/** A source that first gives what was read of it already. */
export function resumed(bytes: Uint8Array, rest: Source): Source {
  let first: Uint8Array | null = bytes
  return {
    async next() {
      if (first === null) return rest.next()
      const piece = first
      first = null
      return piece
    },
    cancel: () => rest.cancel(),
  }
}

/**
 * Writes a stream of known length as one object.
 *
 * @param sha256 when given, R2 verifies it and stores nothing on a mismatch; it is not computed here a second time
 * @throws when fewer or more bytes come than were announced, or R2 refuses; nothing is stored then
 */
export async function putStream(
  bucket: R2Bucket,
  key: string,
  source: Source,
  length: number,
  sha256?: string,
): Promise<Passing> {
  const passing = new Passing(sha256 === undefined)
  const { readable, writable } = new FixedLengthStream(length)
  const stored = bucket.put(key, readable, sha256 === undefined ? {} : { sha256 })
  const writer = writable.getWriter()
  const pump = async () => {
    try {
      for (let piece = await source.next(); piece !== null; piece = await source.next()) {
        passing.add(piece)
        // The writer may hold on to what it is given, and the next piece comes in the same buffer.
        await writer.write(piece)
      }
      await writer.close()
    } catch (error) {
      await writer.abort(error).catch(() => {})
      await source.cancel().catch(() => {})
      throw error
    }
  }
  const [put, pumped] = await Promise.allSettled([stored, pump()])
  // When the sender fails, R2 fails with it: the first cause is the one to tell.
  if (pumped.status === 'rejected' && pumped.reason instanceof BodyCutOff) throw pumped.reason
  if (put.status === 'rejected') throw put.reason
  if (pumped.status === 'rejected') throw pumped.reason
  return passing
}

/** Writes a stream of unknown length, in parts. Nothing is there until its end has come. */
export async function putUnbounded(
  bucket: R2Bucket,
  key: string,
  source: Source,
  partBytes: number,
  most: number,
): Promise<Passing | 'too_large'> {
  const upload = await bucket.createMultipartUpload(key)
  const passing = new Passing()
  try {
    const parts: R2UploadedPart[] = []
    let part = new Uint8Array(partBytes)
    let filled = 0
    const flush = async () => {
      parts.push(await upload.uploadPart(parts.length + 1, part.subarray(0, filled)))
      part = new Uint8Array(partBytes)
      filled = 0
    }
    for (let piece = await source.next(); piece !== null; piece = await source.next()) {
      passing.add(piece)
      if (passing.size > most) {
        await upload.abort()
        return 'too_large'
      }
      for (let at = 0; at < piece.byteLength; ) {
        const taken = piece.subarray(at, at + partBytes - filled)
        part.set(taken, filled)
        filled += taken.byteLength
        at += taken.byteLength
        if (filled === partBytes) await flush()
      }
    }
    if (filled > 0 || parts.length === 0) await flush()
    await upload.complete(parts)
    return passing
  } catch (error) {
    await upload.abort().catch(() => {})
    throw error
  }
}

/** R2 found another digest than was declared. It says so in words alone. */
export function isChecksumError(error: unknown): boolean {
  return error instanceof Error && /checksum|digest.*match|10037/i.test(error.message)
}
