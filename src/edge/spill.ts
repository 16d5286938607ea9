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
import type { Piece, Spilled, WireOperation } from '../session/rpc.ts'
import { Problem } from './reply.ts'

/** The operations with every large value in R2, under its SHA-256. */
export async function spill(env: Env, fleet: string, ops: readonly Operation[]): Promise<WireOperation[]> {
  let total = 0
  for (const op of ops) total += largeValue(op)?.length ?? 0
  // Characters bound bytes from below; bytes are only counted where it matters.
  if (total > limits.commitBytes) {
    throw new Problem(
      fail('too_large', `the values of one commit may have ${limits.commitBytes} bytes`, {
        limit: limits.commitBytes,
      }),
    )
  }
  if (total * 3 <= limits.inlineBytes) return [...ops]
  const out: WireOperation[] = []
  // One after the other: a value may be 16 MiB, and the isolate has 128.
  for (const op of ops) out.push(await spillOne(env, fleet, op))
  return out
}

async function spillOne(env: Env, fleet: string, op: Operation): Promise<WireOperation> {
  const value = largeValue(op)
  if (value === null || value.length * 3 <= limits.inlineBytes) return op
  const bytes = Buffer.from(value)
  if (bytes.length <= limits.inlineBytes) return op
  const blob = hex(hashes.sha256(bytes))
  await env.BLOBS.put(blobKey(fleet, blob), bytes, { sha256: blob })
  const covered = op.op === 'log.append' ? eventValue(op) : value
  const salt = saltOf(hashes, saltKeyOf(env.LARES_DIGEST_SECRET, fleet), covered)
  const spilled: Spilled = { blob, size: bytes.length, salt, digest: valueDigest(hashes, salt, covered) }
  if (op.op === 'log.append') return { ...op, payload: spilled }
  if (op.op === 'state.set') return { ...op, value: spilled }
  return op
}

/** The value that may be large; a patch is applied by the object and must reach it whole. */
function largeValue(op: Operation): Canonical | null {
  if (op.op === 'log.append') return op.payload
  if (op.op === 'state.set') return op.value
  return null
}

/** JSON text from pieces: at once when all of it is here, streamed when some of it lies in R2. */
export function fill(env: Env, fleet: string, pieces: readonly Piece[]): string | ReadableStream<Uint8Array> {
  if (pieces.every((piece) => typeof piece === 'string')) return pieces.join('')
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  // Failing half-way breaks the stream off, which a reader of JSON cannot take for an answer.
  pour(env, fleet, pieces, writable).catch(() => {})
  return readable
}

async function pour(
  env: Env,
  fleet: string,
  pieces: readonly Piece[],
  writable: WritableStream<Uint8Array>,
): Promise<void> {
  const encoder = new TextEncoder()
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      const writer = writable.getWriter()
      await writer.write(encoder.encode(piece))
      writer.releaseLock()
      continue
    }
    const object = await env.BLOBS.get(blobKey(fleet, piece.blob))
    if (object === null) {
      const error = new Error('a blob is missing')
      await writable.abort(error)
      throw error
    }
    await object.body.pipeTo(writable, { preventClose: true })
  }
  await writable.close()
}
