// `…/diff`, `…/revert` and `…/merge`: what changed, taking it back, and bringing it together.

import type { Hono } from 'hono'
import { can, sees } from '../auth/scopes.ts'
import { fail } from '../protocol/errors.ts'
import { decodeCursor, encodeCursor } from '../protocol/paging.ts'
import { parseRef, type RefKind } from '../protocol/refs.ts'
import { entryKinds, mergeBody, revertBody } from '../protocol/time.ts'
import type { FoundBlob } from '../session/blob-rpc.ts'
import type { Piece, SessionStub } from '../session/rpc.ts'
import { readBody, readText } from './body.ts'
import { callerOf } from './caller.ts'
import type { EdgeEnv } from './context.ts'
import { sessionRoute, sessionStub, type Visit } from './door.ts'
import { type Find, withHunks } from './hunks.ts'
import { invalid, parsePoint, pointOf, type Query, readLimit, readQuery } from './query.ts'
import { Problem, reply, replyFailure, replyJson } from './reply.ts'
import { fill } from './spill.ts'

export function historyRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'get', '/diff', 'read', diff)

  sessionRoute(app, 'post', '/revert', 'write', async ({ c, stub }) => {
    readQuery(c, [])
    const text = await readText(c)
    const { to, kinds, prefix = '', message, expect } = await readBody(c, revertBody, text)
    const target = pointOf(to, '/to')
    if (target === null) throw invalid('to is needed', '/to')
    const filter = { kinds: kinds ?? null, prefix }
    const reverted = await stub.revert(callerOf(c, text), { to: target, filter, message, expect })
    if (!reverted.ok) return replyFailure(c, reverted)
    const { version, at, digest, changed } = reverted
    return replyJson(c, { version, at, digest, changed }, { status: 201, version })
  })

  sessionRoute(app, 'post', '/merge', 'write', async ({ c, who, stub }) => {
    readQuery(c, [])
    const text = await readText(c)
    const request = await readBody(c, mergeBody, text)
    requireOther(who, request.from, '/from')
    const merged = await stub.merge(callerOf(c, text), request)
    if (!merged.ok) return replyFailure(c, merged)
    const { version, at, digest, applied, conflicts } = merged
    return replyJson(
      c,
      { version, at, digest, applied, conflicts },
      { status: request.dry_run ? 200 : 201, version },
    )
  })
}

async function diff(visit: Visit): Promise<Response> {
  const { c, who, stub } = visit
  const query = readQuery(c, ['from', 'to', 'kind', 'prefix', 'with', 'limit', 'cursor'])
  const other = query.get('with')
  if (other !== undefined) requireOther(who, other, 'with')
  const from = parsePoint(query, 'from')
  if (from === null && other === undefined) throw invalid('from is needed', 'from')
  const raw = query.get('cursor')
  const cursor = raw === undefined ? null : decodeCursor('diff', raw)
  if (raw !== undefined && (typeof cursor !== 'string' || parseRef(cursor) === null)) {
    throw invalid('this is no cursor of this list', 'cursor')
  }
  const asked = {
    from,
    to: parsePoint(query, 'to'),
    filter: { kinds: kindsOf(query), prefix: query.get('prefix') ?? '' },
    limit: readLimit(query),
    cursor: typeof cursor === 'string' ? cursor : null,
  }
  const page = other === undefined ? await stub.diff(asked) : await stub.diffWith(other, asked)
  if (!page.ok) return replyFailure(c, page)
  const holders = other === undefined ? [stub] : [stub, sessionStub(c, who.fleet, other)]
  const find = (sha256: string) => findIn(holders, sha256)
  const items = await placed(await withHunks(c.env, find, page.items), find)
  const next = page.next === null ? 'null' : JSON.stringify(encodeCursor('diff', page.next))
  return reply(c, fill(c.env, who.fleet, ['{"items":[', ...items, `],"next":${next}}`]), {
    version: page.version,
  })
}

/** The pieces, each with where its blob lies: what another session's page says is only its name. */
async function placed(pieces: readonly Piece[], find: Find): Promise<Piece[]> {
  const all: Piece[] = []
  for (const piece of pieces) {
    const found = typeof piece === 'string' || piece.place !== null ? null : await find(piece.blob)
    if (found === null || typeof piece === 'string' || 'bytes' in found.place) all.push(piece)
    else all.push({ ...piece, place: { ...found.place, size: found.size } })
  }
  return all
}

async function findIn(holders: readonly SessionStub[], sha256: string): Promise<FoundBlob | null> {
  for (const holder of holders) {
    const found = await holder.findBlob(sha256)
    if (found.ok) return found
  }
  return null
}

/** One kind, or several with commas between them. */
function kindsOf(query: Query): RefKind[] | null {
  const raw = query.get('kind')
  if (raw === undefined) return null
  return raw.split(',').map((name) => {
    const kind = entryKinds.find((one) => one === name)
    if (kind === undefined) throw invalid(`a kind is one of ${entryKinds.join(', ')}`, 'kind')
    return kind
  })
}

/** Another session that a request reads: what the caller may not see is not there, and it takes the scope to read it. */
function requireOther(who: Visit['who'], session: string, pointer: string): void {
  if (!sees(who, session)) throw new Problem(fail('not_found', 'no such session', { pointer }))
  if (!can(who, 'read')) throw new Problem(fail('forbidden', 'this needs the scope read', { pointer }))
}
