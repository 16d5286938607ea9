// `…/uploads`: bytes of any size in parts, which may come side by side, again, and after a crash. The SHA-256 of the whole is
// found by reading it back once when it is complete: parts come in any order, and R2 hashes no multipart object.

import type { Hono } from 'hono'
import { ulid } from 'ulid'
import { z } from 'zod'
import { hashes, hex } from '../crypto.ts'
import { declaredDigest } from '../media/digest.ts'
import { uploadKey } from '../media/keys.ts'
import { drain, type Passing, sourceOf } from '../media/stream.ts'
import { type Failure, fail, type Outcome } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import { sha256Pattern } from '../protocol/names.ts'
import { parseWhole } from '../protocol/paging.ts'
import type { UploadPart, UploadShown } from '../session/blob-rpc.ts'
import { readBody, readBytes, readOptionalBody } from './body.ts'
import { callerOf } from './caller.ts'
import type { EdgeContext, EdgeEnv } from './context.ts'
import { sessionRoute, type Visit } from './door.ts'
import { readQuery } from './query.ts'
import { Problem, replyEmpty, replyFailure, replyJson } from './reply.ts'
import { adopt, requireUpload } from './store-blob.ts'

export const uploadBody = z.strictObject({ size: z.int().min(1).max(limits.blobBytes).optional() })
export const uploadCompleteBody = z.strictObject({
  parts: z.array(z.int().min(1).max(limits.parts)).min(1).max(limits.parts),
  /** Lowercase hex, or as in `Content-Digest`. */
  digest: z.string().max(256).optional(),
})

export function uploadRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'post', '/uploads', 'any', begin)
  sessionRoute(app, 'put', '/uploads/:upload/parts/:part', 'any', putPart)
  sessionRoute(app, 'post', '/uploads/:upload/complete', 'any', complete)

  sessionRoute(app, 'get', '/uploads/:upload', 'any', async ({ c, who, stub }) => {
    readQuery(c, [])
    requireUpload(who)
    const read = await stub.readUpload(uploadOf(c))
    if (!read.ok) return replyFailure(c, read)
    const { upload, part_size, size, blob } = read.upload
    const parts = read.parts.map((one) => ({ part: one.part, size: one.size }))
    const done = blob === null ? {} : { blob: blob.sha256, size: blob.size }
    return replyJson(c, { upload, part_size, size, parts, ...done }, { version: read.version })
  })

  sessionRoute(app, 'delete', '/uploads/:upload', 'any', async ({ c, who, stub }) => {
    readQuery(c, [])
    requireUpload(who)
    const aborted = await stub.abortUpload(callerOf(c, ''), uploadOf(c))
    return aborted.ok ? replyEmpty(c, 204, { version: aborted.version }) : replyFailure(c, aborted)
  })
}

async function begin({ c, who, stub }: Visit): Promise<Response> {
  readQuery(c, [])
  requireUpload(who)
  const { size = null } = await readOptionalBody(c, uploadBody)
  const upload = ulid()
  const key = uploadKey(who.fleet, upload)
  const multipart = await c.env.BLOBS.createMultipartUpload(key)
  const part_size = partSize(size)
  const caller = callerOf(c, '')
  const begun = await stub.beginUpload(caller, {
    upload,
    key,
    multipart: multipart.uploadId,
    part_size,
    size,
  })
  if (!begun.ok) {
    await multipart.abort()
    return replyFailure(c, begun)
  }
  return replyJson(c, { upload, part_size }, { status: 201, version: begun.version })
}

/** Whole MiB, so that as many parts as there may be hold the whole. */
function partSize(size: number | null): number {
  const MiB = 1024 * 1024
  return Math.max(limits.partBytes, Math.ceil((size ?? 0) / limits.parts / MiB) * MiB)
}

async function putPart({ c, who, stub }: Visit): Promise<Response> {
  readQuery(c, [])
  requireUpload(who)
  const part = parseWhole(c.req.param('part') ?? '', 1)
  if (part === null || part > limits.parts) throw invalidPart(`parts are numbered 1 to ${limits.parts}`)
  const read = await stub.readUpload(uploadOf(c))
  if (!read.ok) return replyFailure(c, read)
  const { upload } = read
  // A part that comes late has nothing to change.
  if (upload.state !== 'open' || upload.multipart === null)
    return replyFailure(c, fail('not_found', 'this upload is complete'))
  const { body, size } = await partBody(c, upload)
  checkPartSize(upload, part, size)
  const uploaded = await c.env.BLOBS.resumeMultipartUpload(upload.key, upload.multipart)
    .uploadPart(part, body)
    .catch((error: unknown) => {
      if (error instanceof Error && /10024|does not exist|NoSuchUpload/i.test(error.message)) return null
      throw error
    })
  if (uploaded === null) return replyFailure(c, fail('not_found', 'this upload is complete'))
  const added = await stub.addPart(callerOf(c, ''), upload.upload, { part, size, etag: uploaded.etag })
  if (!added.ok) return replyFailure(c, added)
  return replyJson(c, { part, size }, { version: added.version })
}

/** A part of known length streams through; one without, or with a digest to check, is held whole. */
async function partBody(
  c: EdgeContext,
  { part_size }: UploadShown,
): Promise<{ body: ReadableStream | Uint8Array; size: number }> {
  const declared = declaredDigest(c.req.header('content-digest'))
  if (declared === 'malformed') {
    throw new Problem(
      fail('invalid', 'Content-Digest is not of the form sha-256=:BASE64:', { pointer: 'Content-Digest' }),
    )
  }
  const { raw } = c.req
  const length = Number(raw.headers.get('content-length') ?? Number.NaN)
  if (length > part_size)
    throw new Problem(fail('too_large', `a part of this upload has ${part_size} bytes`, { limit: part_size }))
  if (declared === null && length > 0 && raw.body !== null) return { body: raw.body, size: length }
  const held = await readBytes(raw, part_size)
  const bytes = held instanceof Uint8Array ? held : new Uint8Array(held)
  if (declared !== null && hex(hashes.sha256(bytes)) !== declared)
    throw new Problem(fail('digest_mismatch', 'the part does not have the declared SHA-256'))
  return { body: bytes, size: bytes.byteLength }
}

function checkPartSize({ size: whole, part_size }: UploadShown, part: number, size: number): void {
  if (size === 0) throw invalidPart('a part has at least one byte')
  if (whole === null) return
  const last = Math.ceil(whole / part_size)
  if (part > last) throw invalidPart(`an upload of ${whole} bytes has ${last} parts`)
  const expected = part === last ? whole - (last - 1) * part_size : part_size
  if (size !== expected) throw invalidPart(`part ${part} of this upload has ${expected} bytes, not ${size}`)
}

async function complete(visit: Visit): Promise<Response> {
  const { c, who, stub } = visit
  readQuery(c, [])
  requireUpload(who)
  const { parts: numbers, digest } = await readBody(c, uploadCompleteBody)
  const wanted = digest === undefined ? null : digestOf(digest)
  const read = await stub.readUpload(uploadOf(c))
  if (!read.ok) return replyFailure(c, read)
  const { upload } = read
  if (upload.state === 'done' && upload.blob !== null)
    return answer(visit, upload.blob.sha256, upload.blob.size, wanted, read.version)
  if (upload.multipart === null) return replyFailure(c, fail('not_found', 'this session has no such upload'))
  const plan = planned(upload, read.parts, numbers)
  if (!plan.ok) return replyFailure(c, plan)
  await join(c.env.BLOBS, upload.key, upload.multipart, plan.parts, plan.size)
  const passing = await readBack(c.env.BLOBS, upload.key)
  const sha256 = passing.sha256()
  if (wanted !== null && wanted !== sha256) {
    await stub.abortUpload(callerOf(c, ''), upload.upload)
    return replyFailure(c, fail('digest_mismatch', `the bytes have the SHA-256 ${sha256}`))
  }
  const blob = await adopt(visit, upload, sha256, passing)
  if ('code' in blob) return replyFailure(c, blob)
  const held = await stub.holdBlobs(callerOf(c, ''), [blob])
  if (!held.ok) return replyFailure(c, held)
  return answer(visit, sha256, passing.size, wanted, held.version)
}

function answer(
  { c }: Visit,
  sha256: string,
  size: number,
  wanted: string | null,
  version: number,
): Response {
  if (wanted !== null && wanted !== sha256)
    return replyFailure(c, fail('digest_mismatch', `the bytes have the SHA-256 ${sha256}`))
  return replyJson(c, { blob: sha256, size }, { version })
}

/** The parts in order, when they are all there and make up what was announced. */
function planned(
  { part_size, size: whole }: UploadShown,
  arrived: readonly UploadPart[],
  numbers: readonly number[],
): Outcome<{ parts: R2UploadedPart[]; size: number }> {
  const parts: R2UploadedPart[] = []
  let size = 0
  for (const [index, number] of numbers.entries()) {
    const refuse = (why: string): Failure => fail('invalid', why, { pointer: `/parts/${index}` })
    if (number !== index + 1) return refuse('parts are listed in order, each once, from 1')
    const part = arrived.find((one) => one.part === number)
    if (part === undefined) return refuse(`part ${number} has not arrived`)
    const last = index === numbers.length - 1
    if (!last && part.size !== part_size)
      return refuse(`part ${number} has ${part.size} bytes; each but the last has ${part_size}`)
    parts.push({ partNumber: number, etag: part.etag })
    size += part.size
  }
  if (whole !== null && size !== whole)
    return fail('invalid', `${whole} bytes were announced, ${size} have arrived`, { pointer: '/parts' })
  return { ok: true, parts, size }
}

/** Joins the parts. When that was done before, by a try that came no further, the object is there. */
async function join(
  bucket: R2Bucket,
  key: string,
  multipart: string,
  parts: R2UploadedPart[],
  size: number,
): Promise<void> {
  try {
    await bucket.resumeMultipartUpload(key, multipart).complete(parts)
  } catch (error) {
    const there = await bucket.head(key)
    if (there?.size === size) return
    console.warn('an upload could not be joined', error instanceof Error ? error.message : 'unknown')
    throw new Problem(
      fail('invalid', 'the parts do not fit together; list what arrived and send again what is missing', {
        pointer: '/parts',
      }),
    )
  }
}

async function readBack(bucket: R2Bucket, key: string): Promise<Passing> {
  const object = await bucket.get(key)
  if (object === null) throw new Problem(fail('not_found', 'this upload was abandoned'))
  return drain(sourceOf(object.body))
}

function digestOf(text: string): string {
  if (sha256Pattern.test(text)) return text
  const declared = declaredDigest(text)
  if (declared !== null && declared !== 'malformed') return declared
  throw new Problem(fail('invalid', 'a SHA-256 in lowercase hex', { pointer: '/digest' }))
}

function uploadOf(c: EdgeContext): string {
  return c.req.param('upload') ?? ''
}

function invalidPart(detail: string): Problem {
  return new Problem(fail('invalid', detail, { pointer: 'part' }))
}
