// `…/blobs`: bytes without a name yet, so that one commit can name them together with everything else.

import type { Hono } from 'hono'
import { z } from 'zod'
import { fail } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import { sha256Pattern } from '../protocol/names.ts'
import { sha256 } from '../protocol/values.ts'
import { storeArchive } from './blob-archive.ts'
import { readBody } from './body.ts'
import { callerOf } from './caller.ts'
import type { EdgeContext, EdgeEnv } from './context.ts'
import { sessionRoute } from './door.ts'
import { isKnown } from './lists.ts'
import { readQuery } from './query.ts'
import { Problem, replyEmpty, replyFailure, replyJson } from './reply.ts'
import { serve } from './serve.ts'
import { requireUpload, storeBody } from './store-blob.ts'

export const missingBody = z.strictObject({ digests: z.array(sha256).max(limits.digestsPerCall) })

export function blobRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'put', '/blobs/:sha256', 'any', async (visit) => {
    const { c, who, stub } = visit
    readQuery(c, [])
    requireUpload(who)
    const named = digestOf(c)
    const stored = await storeBody(visit, named)
    if ('code' in stored) return replyFailure(c, stored)
    const held = await stub.holdBlobs(callerOf(c, named), [stored])
    if (!held.ok) return replyFailure(c, held)
    return replyJson(c, { blob: named, size: stored.size }, { status: 201, version: held.version })
  })

  sessionRoute(app, 'post', '/blobs/missing', 'any', async ({ c, who, stub }) => {
    readQuery(c, [])
    requireUpload(who)
    const { digests } = await readBody(c, missingBody)
    const answer = await stub.missingBlobs([...new Set(digests)], callerOf(c, ''))
    if (!answer.ok) return replyFailure(c, answer)
    return replyJson(c, { missing: answer.missing }, { version: answer.version })
  })

  sessionRoute(app, 'post', '/blobs', 'any', storeArchive)

  sessionRoute(app, 'get', '/blobs/:sha256', 'read', async ({ c, who, stub }) => {
    readQuery(c, [])
    const named = digestOf(c)
    const found = await stub.findBlob(named)
    if (!found.ok) return replyFailure(c, found)
    const { version, size, place } = found
    const etag = `"${named}"`
    const headers = { etag, 'cache-control': 'private, no-cache' }
    if (isKnown(c.req.header('if-none-match'), etag)) return replyEmpty(c, 304, { version, headers })
    return serve(c, who.fleet, { sha256: named, size, place }, version, {
      ...headers,
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
    })
  })
}

function digestOf(c: EdgeContext): string {
  const digest = c.req.param('sha256') ?? ''
  if (!sha256Pattern.test(digest))
    throw new Problem(fail('invalid', 'not a SHA-256 in lowercase hex', { pointer: 'sha256' }))
  return digest
}
