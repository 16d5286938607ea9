// Bytes on their way in, whatever their size: hashed, verified, held by a ledger and written, all before any row names them.
// What comes back goes into the commit.

import { ulid } from 'ulid'
import type { Principal } from '../auth/principal.ts'
import { can } from '../auth/scopes.ts'
import { hashes, hex } from '../crypto.ts'
import { describeBytes } from '../media/describe.ts'
import { declaredDigest } from '../media/digest.ts'
import { holdObject, noteStored } from '../media/hold.ts'
import { blobKey, uploadKey } from '../media/keys.ts'
import {
  BodyCutOff,
  drain,
  headBytes,
  isChecksumError,
  type Passing,
  putStream,
  putUnbounded,
  readUpTo,
  resumed,
  type Source,
  sourceOf,
} from '../media/stream.ts'
import { type Failure, fail } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import type { NewBlob } from '../session/blob-rpc.ts'
import { callerOf } from './caller.ts'
import type { Visit } from './door.ts'
import { Problem } from './reply.ts'

/** Bytes without a name may come from whoever may write something that names them. */
export function requireUpload(who: Principal): void {
  if (can(who, 'write') || who.scopes.some((scope) => scope.startsWith('files:'))) return
  throw new Problem(fail('forbidden', 'this needs the scope write, or files:PREFIX'))
}

/**
 * Stores the request's body as a blob.
 *
 * @param named the SHA-256 that the request's address says it has
 */
export async function storeBody(visit: Visit, named?: string): Promise<NewBlob | Failure> {
  try {
    return await receive(visit, named)
  } catch (error) {
    if (!(error instanceof BodyCutOff)) throw error
    return fail('invalid', 'the body ended before its announced end', { pointer: 'Content-Length' })
  }
}

async function receive(visit: Visit, named: string | undefined): Promise<NewBlob | Failure> {
  const declared = declaredDigest(visit.c.req.header('content-digest'))
  if (declared === 'malformed')
    return fail('invalid', 'Content-Digest is not of the form sha-256=:BASE64:', {
      pointer: 'Content-Digest',
    })
  if (named !== undefined && declared !== null && named !== declared)
    return fail('digest_mismatch', 'Content-Digest names another SHA-256 than the address')
  const claimed = named ?? declared ?? undefined
  const { raw } = visit.c.req
  const length = lengthOf(raw)
  if (length !== null && length <= limits.smallFileBytes)
    return storeBytes(visit, await wholeOf(raw), claimed)
  if (raw.body === null) return storeBytes(visit, new Uint8Array(), claimed)
  const source = sourceOf(raw.body)
  if (length !== null) return storeStream(visit, source, length, claimed)
  const { bytes, ended } = await readUpTo(source, limits.smallFileBytes)
  return ended ? storeBytes(visit, bytes, claimed) : storeStream(visit, resumed(bytes, source), null, claimed)
}

async function wholeOf(request: Request): Promise<Uint8Array> {
  try {
    return new Uint8Array(await request.arrayBuffer())
  } catch (cause) {
    throw new BodyCutOff('a body was cut off', { cause })
  }
}

function lengthOf(request: Request): number | null {
  const header = request.headers.get('content-length')
  if (header === null) return null
  const length = /^\d{1,15}$/.test(header) ? Number(header) : Number.NaN
  if (Number.isNaN(length))
    throw new Problem(fail('invalid', 'Content-Length is no length', { pointer: 'Content-Length' }))
  if (length > limits.requestFileBytes) {
    throw new Problem(
      fail('too_large', 'more than one request carries; upload it in parts', {
        limit: limits.requestFileBytes,
      }),
    )
  }
  return length
}

/** Stores bytes that are all here. Small ones are only handed on: the commit itself carries them. */
export async function storeBytes(
  visit: Visit,
  bytes: Uint8Array,
  claimed?: string,
): Promise<NewBlob | Failure> {
  const sha256 = hex(hashes.sha256(bytes))
  if (claimed !== undefined && claimed !== sha256) return mismatch(sha256)
  const size = bytes.byteLength
  const media = await describeBytes(bytes.subarray(0, headBytes), size)
  if (size <= limits.inlineBlobBytes) return { sha256, size, place: { bytes }, media }
  return { sha256, size, place: { key: await putOwn(visit, sha256, bytes), start: 0 }, media }
}

/** An object of its own for a blob whose bytes are all here; answers its key. */
export async function putOwn({ c, who, session }: Visit, sha256: string, bytes: Uint8Array): Promise<string> {
  const wanted = { name: sha256, key: blobKey(who.fleet, sha256), size: bytes.byteLength }
  const hold = await holdObject(c.env, who.fleet, session, wanted)
  if (!hold.stored) {
    await c.env.BLOBS.put(hold.key, bytes, { sha256 })
    c.executionCtx.waitUntil(noteStored(c.env, who.fleet, [sha256]))
  }
  return hold.key
}

async function storeStream(
  visit: Visit,
  source: Source,
  length: number | null,
  claimed: string | undefined,
): Promise<NewBlob | Failure> {
  return claimed !== undefined && length !== null
    ? storeClaimed(visit, source, length, claimed)
    : storeUnknown(visit, source, length, claimed)
}

/** The digest is known beforehand: straight to its own key, and R2 does the verifying. */
export async function storeClaimed(
  { c, who, session }: Visit,
  source: Source,
  length: number,
  sha256: string,
): Promise<NewBlob | Failure> {
  const wanted = { name: sha256, key: blobKey(who.fleet, sha256), size: length }
  const hold = await holdObject(c.env, who.fleet, session, wanted)
  const place = { key: hold.key, start: 0 }
  if (hold.stored) {
    // The fleet has these bytes. Whether the caller has them too, only the bytes can tell: a hash is not a password.
    const passing = await drain(source)
    const sent = passing.sha256()
    if (sent !== sha256) return mismatch(sent)
    return { sha256, size: length, place, media: await describeBytes(passing.head, length) }
  }
  try {
    const passing = await putStream(c.env.BLOBS, hold.key, source, length, sha256)
    c.executionCtx.waitUntil(noteStored(c.env, who.fleet, [sha256]))
    return { sha256, size: length, place, media: await describeBytes(passing.head, length) }
  } catch (error) {
    if (isChecksumError(error)) return fail('digest_mismatch', 'the bytes do not have the declared SHA-256')
    throw error
  }
}

/** The digest shows at the end: under a name of its own, which the fleet's ledger then takes for the blob's. */
async function storeUnknown(
  visit: Visit,
  source: Source,
  length: number | null,
  claimed: string | undefined,
): Promise<NewBlob | Failure> {
  const { c, who, stub } = visit
  const caller = callerOf(c, '')
  const upload = ulid()
  const key = uploadKey(who.fleet, upload)
  const begun = await stub.beginUpload(caller, {
    upload,
    key,
    multipart: null,
    part_size: limits.partBytes,
    size: length,
  })
  if (!begun.ok) return begun
  const giveUp = () => c.executionCtx.waitUntil(stub.abortUpload(caller, upload).catch(() => {}))
  try {
    const passing =
      length === null
        ? await putUnbounded(c.env.BLOBS, key, source, limits.partBytes, limits.requestFileBytes)
        : await putStream(c.env.BLOBS, key, source, length)
    if (passing === 'too_large') {
      giveUp()
      return fail('too_large', 'more than one request carries; upload it in parts', {
        limit: limits.requestFileBytes,
      })
    }
    const sha256 = passing.sha256()
    if (claimed !== undefined && claimed !== sha256) {
      giveUp()
      return mismatch(sha256)
    }
    return await adopt(visit, { upload, key }, sha256, passing)
  } catch (error) {
    giveUp()
    throw error
  }
}

/** Makes the object of an upload the blob of its SHA-256, or finds that the fleet has one already. */
export async function adopt(
  { c, who, session, stub }: Visit,
  { upload, key }: { upload: string; key: string },
  sha256: string,
  { size, head }: Pick<Passing, 'size' | 'head'>,
): Promise<NewBlob | Failure> {
  // Sealed first: from here on the session will not remove the object without asking the ledger.
  const sealed = await stub.sealUpload(callerOf(c, ''), upload, sha256, size)
  if (!sealed.ok) return sealed
  const hold = await holdObject(c.env, who.fleet, session, { name: sha256, key, size, stored: true })
  if (hold.key !== key && !hold.stored) await copy(c.env.BLOBS, key, hold.key, sha256)
  const media = await describeBytes(head, size)
  return { sha256, size, place: { key: hold.key, start: 0 }, upload, media }
}

/** Someone is writing the same blob under another key, and may not come to its end. */
async function copy(bucket: R2Bucket, from: string, to: string, sha256: string): Promise<void> {
  const object = await bucket.get(from)
  if (object === null) throw new Error('an upload lost its bytes')
  await bucket.put(to, object.body, { sha256 })
}

function mismatch(sha256: string): Failure {
  return fail('digest_mismatch', `the bytes have the SHA-256 ${sha256}`)
}
