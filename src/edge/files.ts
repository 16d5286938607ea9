// `…/files/{path}`: bytes under a name. Bytes go to R2 before the commit that names them; whether they may be served is asked
// of the session each time.

import type { Hono } from 'hono'
import { canReadFile, canWriteFile, fileListPrefixes } from '../auth/scopes.ts'
import { contentDisposition } from '../media/disposition.ts'
import { isDescribable, typeOf } from '../media/types.ts'
import { type Canonical, canonical } from '../protocol/canonical.ts'
import { fail } from '../protocol/errors.ts'
import { pathProblem } from '../protocol/names.ts'
import { filePut } from '../protocol/ops.ts'
import type { Media } from '../session/blob-rpc.ts'
import { check } from './body.ts'
import { callerOf } from './caller.ts'
import type { EdgeContext, EdgeEnv } from './context.ts'
import { restOfPath, sessionRoute, type Visit } from './door.ts'
import { isKnown, readHeaders, replyPage } from './lists.ts'
import { invalid, readAt, readChoice, readLimit, readPlace, readQuery } from './query.ts'
import { Problem, replyEmpty, replyFailure, replyJson } from './reply.ts'
import { serve } from './serve.ts'
import { preconditions } from './state.ts'
import { storeBody } from './store-blob.ts'
import { replyTree } from './tree.ts'

export function fileRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'get', '/files', 'any', list)
  sessionRoute(app, 'get', '/files/*', 'any', read)
  sessionRoute(app, 'put', '/files/*', 'any', write)

  sessionRoute(app, 'delete', '/files/*', 'any', async ({ c, who, stub }) => {
    readQuery(c, [])
    const path = pathOf(c)
    if (!canWriteFile(who, path))
      throw new Problem(fail('forbidden', 'the credential does not allow writing this file'))
    const ops = [{ op: 'file.delete' as const, path, must: true as const, ...preconditions(c) }]
    const outcome = await stub.commit(callerOf(c, ''), { ops })
    if (!outcome.ok) return replyFailure(c, outcome)
    const { version, at, digest } = outcome
    return replyJson(c, { version, at, digest }, { version })
  })
}

async function list(visit: Visit): Promise<Response> {
  const { c, who, stub } = visit
  const query = readQuery(c, ['prefix', 'delimiter', 'at', 'limit', 'cursor', 'format'])
  const delimiter = query.get('delimiter') || null
  if (delimiter !== null && delimiter !== '/') throw invalid('the delimiter is /', 'delimiter')
  const within = fileListPrefixes(who)
  if (within?.length === 0) throw new Problem(fail('forbidden', 'this needs the scope read, or files:PREFIX'))
  if (readChoice(query, 'format', ['json', 'tar'] as const, 'json') === 'tar') {
    for (const name of ['delimiter', 'limit', 'cursor'])
      if (query.has(name)) throw invalid(`an archive takes no ${name}`, name)
    return replyTree(visit, { at: readAt(query), prefix: query.get('prefix') ?? '', within })
  }
  const page = await stub.listEntries('file', {
    at: readAt(query),
    limit: readLimit(query),
    ...readPlace(query, 'files'),
    delimiter,
    within,
  })
  return page.ok ? replyPage(visit, 'files', page) : replyFailure(c, page)
}

interface FileValue {
  blob: string
  mode: string
  mtime: string | null
  size: number
  type: string
}

async function read({ c, who, stub }: Visit): Promise<Response> {
  const query = readQuery(c, ['at'])
  const at = readAt(query)
  const path = pathOf(c)
  // A file outside the token's folders is not there for it.
  if (!canReadFile(who, path)) throw new Problem(fail('not_found', 'there is no such file'))
  const entry = await stub.readEntry('file', path, at)
  if (!entry.ok) return replyFailure(c, entry)
  if (typeof entry.value !== 'string') throw new Error('a file entry is always inline')
  const file: FileValue = JSON.parse(entry.value)
  const { version } = entry
  const etag = `"${entry.digest}"`
  const headers: Record<string, string> = {
    ...readHeaders(at !== null && 'version' in at),
    etag,
    'lares-since': String(entry.since),
    'lares-mode': file.mode,
    'lares-blob': file.blob,
    ...(file.mtime === null ? {} : { 'lares-mtime': file.mtime }),
  }
  if (isKnown(c.req.header('if-none-match'), etag)) return replyEmpty(c, 304, { version, headers })
  Object.assign(headers, {
    'content-type': file.type,
    'content-disposition': contentDisposition(path),
    // What was uploaded must never run in our origin, whatever type it claims.
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'accept-ranges': 'bytes',
  })
  if (entry.place === undefined) throw new Problem(fail('corrupt', 'the bytes of this file are missing'))
  return serve(c, who.fleet, { sha256: file.blob, size: file.size, place: entry.place }, version, headers)
}

async function write(visit: Visit): Promise<Response> {
  const { c, who, stub } = visit
  readQuery(c, [])
  const path = pathOf(c)
  if (!canWriteFile(who, path))
    throw new Problem(fail('forbidden', 'the credential does not allow writing this file'))
  const asked = check(filePut, {
    op: 'file.put',
    path,
    blob: '0'.repeat(64),
    type: c.req.header('content-type'),
    mode: c.req.header('lares-mode'),
    mtime: c.req.header('lares-mtime'),
  })
  const stored = await storeBody(visit)
  if ('code' in stored) return replyFailure(c, stored)
  const { type = typeOf(stored.media?.type, path) ?? 'application/octet-stream' } = asked
  const op = { ...asked, blob: stored.sha256, type, ...metaOf(type, stored.media), ...preconditions(c) }
  const outcome = await stub.commit(callerOf(c, JSON.stringify(op)), { ops: [op], blobs: [stored] })
  if (!outcome.ok) return replyFailure(c, outcome)
  const { version, created } = outcome
  const { mode, mtime = null } = op
  const shown = { path, blob: stored.sha256, size: stored.size, type, mode, mtime, version }
  return replyJson(c, shown, { status: created.length > 0 ? 201 : 200, version })
}

/** What is told of a file that claims to be of a kind with measures. */
function metaOf(type: string, media: Media | undefined): { meta?: Canonical } {
  if (media?.meta !== undefined) return { meta: canonical(media.meta) }
  return isDescribable(type) ? { meta: canonical({ note: `not read: the bytes are no ${type}` }) } : {}
}

function pathOf(c: EdgeContext): string {
  const path = restOfPath(c, 'files')
  const problem = pathProblem(path)
  if (problem !== null) throw new Problem(fail('invalid', problem, { pointer: 'path' }))
  return path
}
