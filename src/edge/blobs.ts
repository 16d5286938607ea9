// `…/blobs/{sha256}`: bytes without a name yet, so that one commit can name them together with everything else.

import type { Hono } from 'hono'
import type { Principal } from '../auth/principal.ts'
import { can } from '../auth/scopes.ts'
import { putBlob } from '../media/blobs.ts'
import { blobKey } from '../media/keys.ts'
import { fail } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import { sha256Pattern } from '../protocol/names.ts'
import { readBytes } from './body.ts'
import { callerOf } from './caller.ts'
import type { EdgeContext, EdgeEnv } from './context.ts'
import { sessionRoute } from './door.ts'
import { readQuery } from './query.ts'
import { Problem, reply, replyFailure, replyJson } from './reply.ts'

export function blobRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'put', '/blobs/:sha256', 'any', async ({ c, who, stub }) => {
    readQuery(c, [])
    if (!mayUpload(who)) throw new Problem(fail('forbidden', 'this needs the scope write, or files:PREFIX'))
    const sha256 = digestOf(c)
    const bytes = await readBytes(c.req.raw, limits.smallFileBytes)
    const stored = await putBlob(c.env, who.fleet, bytes, c.req.header('content-digest'), sha256)
    if (!stored.ok) return replyFailure(c, stored)
    const held = await stub.holdBlob(callerOf(c, sha256), stored)
    if (!held.ok) return replyFailure(c, held)
    return replyJson(c, { blob: sha256, size: stored.size }, { status: 201, version: held.version })
  })

  sessionRoute(app, 'get', '/blobs/:sha256', 'read', async ({ c, who, stub }) => {
    readQuery(c, [])
    const sha256 = digestOf(c)
    const found = await stub.findBlob(sha256)
    if (!found.ok) return replyFailure(c, found)
    const object = c.req.method === 'HEAD' ? null : await c.env.BLOBS.get(blobKey(who.fleet, sha256))
    if (object === null && c.req.method !== 'HEAD')
      throw new Problem(fail('corrupt', 'the bytes of this blob are missing'))
    return reply(c, object?.body ?? null, {
      version: found.version,
      headers: {
        'content-type': 'application/octet-stream',
        'content-length': String(found.size),
        'content-disposition': 'attachment',
        'x-content-type-options': 'nosniff',
        etag: `"${sha256}"`,
        'cache-control': 'private, no-cache',
      },
    })
  })
}

function mayUpload(who: Principal): boolean {
  return can(who, 'write') || who.scopes.some((scope) => scope.startsWith('files:'))
}

function digestOf(c: EdgeContext): string {
  const sha256 = c.req.param('sha256') ?? ''
  if (!sha256Pattern.test(sha256))
    throw new Problem(fail('invalid', 'not a SHA-256 in lowercase hex', { pointer: 'sha256' }))
  return sha256
}
