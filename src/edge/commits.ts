// `…/commits`: the door through which everything is written, and the journal of what was.

import type { Hono } from 'hono'
import type { Principal } from '../auth/principal.ts'
import { can, canReadFile, canWriteFile } from '../auth/scopes.ts'
import { fail } from '../protocol/errors.ts'
import { commitBody, type Operation } from '../protocol/ops.ts'
import { parseWhole } from '../protocol/paging.ts'
import type { CommitPart, CommitRequest, Piece, SessionStub } from '../session/rpc.ts'
import { readBody, readText } from './body.ts'
import type { EdgeEnv } from './context.ts'
import { sessionRoute, type Visit } from './door.ts'
import { isKnown, readHeaders, replyPage } from './lists.ts'
import { commitAny } from './patch-large.ts'
import { readChoice, readCursor, readLimit, readQuery, readWhole } from './query.ts'
import { Problem, reply, replyEmpty, replyFailure, replyJson } from './reply.ts'
import { fill, pour } from './spill.ts'

export function commitRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'post', '/commits', 'any', async (visit) => {
    const { c } = visit
    readQuery(c, [])
    const text = await readText(c)
    const { ops, ...rest } = await readBody(c, commitBody, text)
    const outcome = await commitOps(visit, text, ops, rest)
    if (!outcome.ok) return replyFailure(c, outcome)
    const { version, at, digest, results } = outcome
    return replyJson(c, { version, at, digest, results }, { status: 201, version })
  })

  sessionRoute(app, 'get', '/commits', 'read', async (visit) => {
    const { c, stub } = visit
    const query = readQuery(c, ['after', 'before', 'order', 'limit', 'cursor'])
    const page = await stub.listCommits({
      limit: readLimit(query),
      cursor: readCursor(query, 'commits', 'number'),
      after: readWhole(query, 'after'),
      before: readWhole(query, 'before'),
      order: readChoice(query, 'order', ['asc', 'desc'], 'asc'),
    })
    return page.ok ? replyPage(visit, 'commits', page) : replyFailure(c, page)
  })

  sessionRoute(app, 'get', '/commits/:version', 'read', async ({ c, who, stub }) => {
    readQuery(c, [])
    const version = parseWhole(c.req.param('version') ?? '')
    if (version === null) throw new Problem(fail('no_such_version', 'a version is a whole number'))
    const read = await stub.readCommit(version)
    if (!read.ok) return replyFailure(c, read)
    const etag = `"${read.digest}"`
    const headers = { ...readHeaders(true), etag }
    if (isKnown(c.req.header('if-none-match'), etag)) return replyEmpty(c, 304, { version, headers })
    const body =
      read.next === null
        ? fill(c.env, who.fleet, read.commit)
        : pour(c.env, who.fleet, piecesOf(stub, version, read))
    return reply(c, body, { version, headers })
  })
}

/** A long commit, part by part: what one commit changed may be more than there is room for at the edge. */
async function* piecesOf(stub: SessionStub, version: number, first: CommitPart): AsyncGenerator<Piece> {
  yield* first.commit
  for (let { next } = first; next !== null; ) {
    const more = await stub.readCommit(version, next)
    if (!more.ok) throw new Problem(more)
    yield* more.commit
    next = more.next
  }
}

/**
 * Commits operations for whoever asks, if each of them is theirs to do.
 *
 * @param asked the request's body, for idempotency
 */
export async function commitOps(
  visit: Visit,
  asked: string,
  ops: Operation[],
  rest: Omit<CommitRequest, 'ops' | 'blobs'> = {},
) {
  for (const op of ops) requireOperation(visit.who, op)
  return commitAny(visit, asked, ops, rest)
}

/** What each operation takes: appending, writing, or a folder of files. */
export function requireOperation(who: Principal, op: Operation): void {
  if (!mayDo(who, op)) throw new Problem(fail('forbidden', `the credential does not allow ${op.op} here`))
}

function mayDo(who: Principal, op: Operation): boolean {
  switch (op.op) {
    case 'log.append':
      return can(who, 'append')
    case 'file.put':
      return canWriteFile(who, op.path)
    case 'file.copy':
      return mayCarry(who, op)
    case 'file.move':
      return mayDrop(who, op) && mayCarry(who, op)
    case 'file.delete':
      return mayDrop(who, op)
    default:
      return can(who, 'write')
  }
}

type Source = { path?: string | undefined; prefix?: string | undefined }

/** Who may not read a file may not bring it to where they may. */
function mayCarry(who: Principal, op: Source & { to: string }): boolean {
  const from = placeOf(op)
  const to = reach(op.to, op.path === undefined)
  if (!canWriteFile(who, to)) return false
  return canReadFile(who, from) || (canWriteFile(who, from) && !canReadFile(who, to))
}

function mayDrop(who: Principal, source: Source): boolean {
  return canWriteFile(who, placeOf(source))
}

function placeOf({ path, prefix = '' }: Source): string {
  return path ?? reach(prefix, true)
}

/** A path that a prefix reaches and its folder does not: the prefix `docs` reaches `docs2`, `docs/` only what lies in it. */
function reach(place: string, isPrefix: boolean): string {
  return isPrefix ? `${place}\u{10FFFF}` : place
}
