// Large values: moved to R2 before the commit that names them, and put back in place when they are read. The client sees
// neither.

import { hashes, hex, saltKeyOf } from '../crypto.ts'
import type { Env } from '../env.ts'
import { blobKey } from '../media/keys.ts'
import type { Canonical } from '../protocol/canonical.ts'
import { eventValue, saltOf, valueDigest } from '../protocol/digests.ts'
import { fail } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import type { Operation } from '../protocol/ops.ts'
import type { NewBlob } from '../session/blob-rpc.ts'
import type { Piece, Spilled, Value, WireOperation } from '../session/rpc.ts'
import type { Visit } from './door.ts'
import { Problem } from './reply.ts'
import { putOwn } from './store-blob.ts'

/** What crosses to the object instead of large values, and the blobs that hold them. */
export interface SpilledOps {
  ops: WireOperation[]
  blobs: NewBlob[]
}

/** The operations with every large value in R2, under its SHA-256. */
export async function spill(visit: Visit, ops: readonly Operation[]): Promise<SpilledOps> {
  let total = 0
  for (const op of ops) total += carried(op)?.length ?? 0
  // A text of n UTF-16 units has n to 3n bytes: most commits need no count.
  if (total * 3 > limits.commitBytes) checkTotal(ops)
  const crowded = travelBytes(ops) > travelLimit
  if (total * 3 <= limits.inlineBytes && !crowded) return { ops: [...ops], blobs: [] }
  const spilled: SpilledOps = { ops: [], blobs: [] }
  const most = crowded ? crowdedBytes : limits.inlineBytes
  for (let i = 0; i < ops.length; i += putsAtOnce) {
    const some = ops.slice(i, i + putsAtOnce)
    spilled.ops.push(...(await Promise.all(some.map((op) => spillOne(visit, op, spilled.blobs, most)))))
  }
  if (crowded && travelBytes(spilled.ops) > travelLimit) throw tooLarge()
  return spilled
}

/** Bytes of one call's operations: the platform carries 32 MiB, and there is more to a call than these. */
const travelLimit = 28 * 1024 * 1024
/** What stays inline in a commit that would not fit in a call; a thousand of them do. */
const crowdedBytes = 8 * 1024
/** As many connections as one request may hold open. */
const putsAtOnce = 6

/** About what operations take on their way: a text with one character beyond Latin-1 takes two bytes for each. */
function travelBytes(ops: readonly WireOperation[]): number {
  let bytes = 0
  for (const op of ops) {
    const value = carried(op)
    if (typeof value === 'string') bytes += textBytes(value)
    for (const ref of op.from ?? []) bytes += textBytes(ref) + 8
  }
  return bytes
}

function textBytes(text: string): number {
  return /[\u0100-\uffff]/.test(text) ? text.length * 2 : text.length
}

function checkTotal(ops: readonly Operation[]): void {
  let bytes = 0
  for (const op of ops) bytes += Buffer.byteLength(carried(op) ?? '')
  if (bytes > limits.commitBytes) throw tooLarge()
}

function tooLarge(): Problem {
  return new Problem(
    fail('too_large', `the values of one commit may have ${limits.commitBytes} bytes`, {
      limit: limits.commitBytes,
    }),
  )
}

async function spillOne(visit: Visit, op: Operation, blobs: NewBlob[], most: number): Promise<WireOperation> {
  const value = largeValue(op)
  if (value === null || value.length * 3 <= most) return op
  const covered = op.op === 'log.append' ? eventValue(op) : value
  const spilled = await spillValue(visit, value, covered, blobs, most)
  if (spilled === null) return op
  if (op.op === 'log.append') return { ...op, payload: spilled }
  if (op.op === 'state.set') return { ...op, value: spilled }
  return op
}

/**
 * Moves one value to R2 if it is large; null when it is not.
 *
 * @param most bytes of a value that stays
 * @param covered what the value's digest covers: the value itself, or the event around it
 */
export async function spillValue(
  visit: Visit,
  value: Canonical,
  covered: Canonical,
  blobs: NewBlob[],
  most: number = limits.inlineBytes,
): Promise<Spilled | null> {
  const bytes = Buffer.from(value)
  if (bytes.length <= most) return null
  const { c, who } = visit
  const blob = hex(hashes.sha256(bytes))
  const size = bytes.length
  blobs.push({ sha256: blob, size, place: { key: await putOwn(visit, blob, bytes), start: 0 } })
  const salt = saltOf(hashes, saltKeyOf(c.env.LARES_DIGEST_SECRET, who.fleet), covered)
  return { blob, size, salt, digest: valueDigest(hashes, salt, covered) }
}

/** The value that may be large; a patch is applied by the object and must reach it whole. */
function largeValue(op: Operation): Canonical | null {
  if (op.op === 'log.append') return op.payload
  if (op.op === 'state.set') return op.value
  return null
}

/** Everything of an operation that counts as its value; what does not move must reach the object whole. */
function carried(op: Operation): Canonical | undefined
function carried(op: WireOperation): Value | undefined
function carried(op: WireOperation): Value | undefined {
  switch (op.op) {
    case 'log.append':
      return op.payload
    case 'state.set':
      return op.value
    case 'state.patch':
      return op.patch
    case 'file.put':
      return op.meta
    case 'row.insert':
      return op.rows
    case 'row.update':
      return op.set
    default:
      return undefined
  }
}

/** JSON text from pieces: at once when all of it is here, streamed when some of it lies in R2. */
export function fill(env: Env, fleet: string, pieces: readonly Piece[]): string | ReadableStream<Uint8Array> {
  return pieces.every((piece) => typeof piece === 'string') ? pieces.join('') : pour(env, fleet, pieces)
}

/** JSON text from pieces that come one after the other, and are never here all at once. */
export function pour(
  env: Env,
  fleet: string,
  pieces: Iterable<Piece> | AsyncIterable<Piece>,
): ReadableStream<Uint8Array> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  // Failing half-way breaks the stream off, which a reader of JSON cannot take for an answer.
  write(env, fleet, pieces, writable).catch((error) => writable.abort(error).catch(() => {}))
  return readable
}

/** A blob whose place is not known can only lie under its own name. */
function open(
  env: Env,
  fleet: string,
  { blob, place }: Exclude<Piece, string>,
): Promise<R2ObjectBody | null> {
  if (place === null) return env.BLOBS.get(blobKey(fleet, blob))
  const { key, start, size } = place
  return env.BLOBS.get(key, { range: { offset: start, length: size } })
}

async function write(
  env: Env,
  fleet: string,
  pieces: Iterable<Piece> | AsyncIterable<Piece>,
  writable: WritableStream<Uint8Array>,
): Promise<void> {
  const encoder = new TextEncoder()
  for await (const piece of pieces) {
    if (typeof piece === 'string') {
      const writer = writable.getWriter()
      try {
        await writer.write(encoder.encode(piece))
      } finally {
        writer.releaseLock()
      }
      continue
    }
    const object = await open(env, fleet, piece)
    if (object === null) throw new Error('a blob is missing')
    await object.body.pipeTo(writable, { preventClose: true })
  }
  await writable.close()
}
