// Bytes on their way out: whole or one range, from the session itself or from R2. Whether they may go out at all has been
// asked of the session before.

import { cached, isCacheable, keep } from '../media/cache.ts'
import { parseRange } from '../media/range.ts'
import { fail } from '../protocol/errors.ts'
import type { Place } from '../session/blob-rpc.ts'
import type { EdgeContext } from './context.ts'
import { Problem, reply, replyFailure } from './reply.ts'

export interface Servable {
  sha256: string
  size: number
  place: Place
}

/** Answers a read of bytes with what its `Range` asks for. */
export async function serve(
  c: EdgeContext,
  fleet: string,
  blob: Servable,
  version: number,
  headers: Record<string, string>,
): Promise<Response> {
  const { size } = blob
  const current = c.req.header('if-range')
  const wanted = current === undefined || current === headers.etag ? c.req.header('range') : undefined
  const range = parseRange(wanted, size)
  if (range === 'unsatisfiable') {
    return replyFailure(c, fail('range_not_satisfiable', `the file has ${size} bytes`, { head: version }), {
      'content-range': `bytes */${size}`,
    })
  }
  const start = range?.start ?? 0
  const length = range === null ? size : range.end - range.start + 1
  headers['content-length'] = String(length)
  if (range !== null) headers['content-range'] = `bytes ${range.start}-${range.end}/${size}`
  const status = range === null ? 200 : 206
  const body = c.req.method === 'HEAD' || length === 0 ? null : await read(c, fleet, blob, start, length)
  return reply(c, body, { status, version, headers })
}

async function read(
  c: EdgeContext,
  fleet: string,
  blob: Servable,
  start: number,
  length: number,
): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  const { sha256, size, place } = blob
  if ('bytes' in place || !isCacheable(size)) return readBlob(c.env.BLOBS, blob, start, length)
  const whole = length === size
  const near = await cached(fleet, sha256, whole ? null : { start, end: start + length - 1 })
  if (near !== null) return near
  const body = await readBlob(c.env.BLOBS, blob, start, length)
  if (!whole || body instanceof Uint8Array) return body
  return keep(fleet, sha256, size, body, (promise) => c.executionCtx.waitUntil(promise))
}

/**
 * Bytes of a blob.
 *
 * @throws Problem `corrupt` when R2 does not have what a row says it has
 */
export async function readBlob(
  bucket: R2Bucket,
  { place, size }: Servable,
  start: number,
  length: number,
): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  if ('bytes' in place) return place.bytes.subarray(start, start + length)
  const whole = length === size && !isPacked(place.key)
  const object = await bucket.get(place.key, whole ? {} : { range: { offset: place.start + start, length } })
  if (object === null) throw new Problem(fail('corrupt', 'the bytes are missing'))
  return object.body
}

function isPacked(key: string): boolean {
  return key.includes('/packs/')
}
