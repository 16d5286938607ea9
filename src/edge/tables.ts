// `…/tables`: definitions, rows, and questions about rows that need no SQL.

import type { Hono } from 'hono'
import { fail, type Outcome } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import type { Operation } from '../protocol/ops.ts'
import { decodeCursor, encodeCursor } from '../protocol/paging.ts'
import {
  deleteBody,
  recomputeBody,
  rowPatch,
  rowsBody,
  rowsQuery,
  tableBody,
  tableName,
  tablePatch,
  updateBody,
} from '../protocol/tables.ts'
import type { Committed, Shown, WireOperation } from '../session/rpc.ts'
import { check, readBody, readText } from './body.ts'
import { callerOf } from './caller.ts'
import type { EdgeContext, EdgeEnv } from './context.ts'
import { sessionRoute, type Visit } from './door.ts'
import { isFixed, isKnown, readHeaders, replyPage } from './lists.ts'
import { invalid, pointOf, readAt, readCursor, readLimit, readQuery } from './query.ts'
import { Problem, reply, replyEmpty, replyFailure, replyJson } from './reply.ts'
import { preconditions } from './state.ts'

export function tableRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'get', '/tables', 'read', async (visit) => {
    const query = readQuery(visit.c, ['at', 'limit', 'cursor'])
    const page = await visit.stub.listTables({
      at: readAt(query),
      limit: readLimit(query),
      cursor: readCursor(query, 'tables', 'string'),
    })
    return page.ok ? replyPage(visit, 'tables', page) : replyFailure(visit.c, page)
  })

  sessionRoute(app, 'get', '/tables/:t', 'read', async ({ c, stub }) => {
    const at = readAt(readQuery(c, ['at']))
    return replyShown(c, at !== null && 'version' in at, await stub.readTable(nameOf(c), at))
  })

  sessionRoute(app, 'put', '/tables/:t', 'write', async (visit) => {
    const text = await readText(visit.c)
    const body = await readBody(visit.c, tableBody, text)
    return write(visit, text, { op: 'table.define', table: nameOf(visit.c), ...body })
  })

  sessionRoute(app, 'patch', '/tables/:t', 'write', async (visit) => {
    const text = await readText(visit.c)
    const body = await readBody(visit.c, tablePatch, text)
    return write(visit, text, { op: 'table.alter', table: nameOf(visit.c), ...body })
  })

  sessionRoute(app, 'delete', '/tables/:t', 'write', async (visit) =>
    write(visit, '', { op: 'table.drop', table: nameOf(visit.c) }, { must: true }),
  )

  sessionRoute(app, 'post', '/tables/:t/rows', 'write', async (visit) => {
    const text = await readText(visit.c)
    const body = await readBody(visit.c, rowsBody, text)
    return write(visit, text, { op: 'row.insert', table: nameOf(visit.c), ...body }, { status: 201, at: '' })
  })

  sessionRoute(app, 'post', '/tables/:t/update', 'write', async (visit) => {
    const text = await readText(visit.c)
    const body = await readBody(visit.c, updateBody, text)
    return write(visit, text, { op: 'row.update', table: nameOf(visit.c), ...body })
  })

  sessionRoute(app, 'post', '/tables/:t/delete', 'write', async (visit) => {
    const text = await readText(visit.c)
    const body = await readBody(visit.c, deleteBody, text)
    return write(visit, text, { op: 'row.delete', table: nameOf(visit.c), ...body })
  })

  sessionRoute(app, 'post', '/tables/:t/recompute', 'write', async (visit) => {
    const text = await readText(visit.c)
    const body = await readBody(visit.c, recomputeBody, text)
    return write(visit, text, { op: 'row.recompute', table: nameOf(visit.c), ...body })
  })

  sessionRoute(app, 'post', '/tables/:t/query', 'read', async ({ c, stub }) => {
    readQuery(c, [])
    const body = await readBody(c, rowsQuery)
    const table = nameOf(c)
    const list = `rows ${table} ${JSON.stringify([body.where ?? null, body.order ?? []])}`
    return rows(
      c,
      list,
      stub.listRows({
        table,
        at: pointOf(body.at, '/at'),
        select: body.select ?? null,
        where: body.where ?? null,
        order: body.order ?? [],
        limit: Math.min(body.limit ?? limits.pageDefault, limits.page),
        cursor: cursorOf(list, body.cursor),
      }),
    )
  })

  sessionRoute(app, 'get', '/tables/:t/rows', 'read', async ({ c, stub }) => {
    const query = readQuery(c, ['at', 'limit', 'cursor'])
    const table = nameOf(c)
    const list = `rows ${table}`
    return rows(
      c,
      list,
      stub.listRows({
        table,
        at: readAt(query),
        select: null,
        where: null,
        order: [],
        limit: readLimit(query),
        cursor: cursorOf(list, query.get('cursor')),
      }),
    )
  })

  sessionRoute(app, 'get', '/tables/:t/rows/*', 'read', async ({ c, stub }) => {
    const at = readAt(readQuery(c, ['at']))
    return replyShown(c, at !== null && 'version' in at, await stub.readRow(nameOf(c), rowKeyOf(c), at))
  })

  sessionRoute(app, 'patch', '/tables/:t/rows/*', 'write', async (visit) => {
    const { c } = visit
    const text = await readText(c)
    const set = await readBody(c, rowPatch, text)
    const op: Operation = { op: 'row.update', table: nameOf(c), key: rowKeyOf(c), set }
    return write(visit, text, op, { must: true, at: '/set' })
  })

  sessionRoute(app, 'delete', '/tables/:t/rows/*', 'write', async (visit) =>
    write(visit, '', { op: 'row.delete', table: nameOf(visit.c), key: rowKeyOf(visit.c) }, { must: true }),
  )
}

interface WriteOptions {
  must?: true
  /** When it succeeds. */
  status?: number
  /** What of an operation's pointer the body does not have. */
  at?: string
}

/** One operation as a commit of its own; pointers of its errors lead into the request's body. */
export async function write(
  visit: Visit,
  asked: string,
  op: Operation,
  { must, status, at = '' }: WriteOptions = {},
): Promise<Response> {
  const { c, stub } = visit
  readQuery(c, [])
  // None of these carries a value that could be moved to R2.
  const wire = { ...op, ...preconditions(c), ...(must === undefined ? {} : { must }) } as WireOperation
  const outcome: Outcome<Committed> = await stub.commit(callerOf(c, asked), { ops: [wire] })
  if (!outcome.ok) {
    const { pointer } = outcome
    const inBody = pointer?.replace(`/ops/0${at}`, '').replace(/^\/ops\/0/, '')
    return replyFailure(c, inBody === undefined ? outcome : { ...outcome, pointer: inBody })
  }
  const { version, created, at: time, digest, results } = outcome
  return replyJson(
    c,
    { version, at: time, digest, ...results[0] },
    { status: status ?? (created.length > 0 ? 201 : 200), version },
  )
}

export function replyShown(c: EdgeContext, fixed: boolean, read: Outcome<Shown>): Response {
  if (!read.ok) return replyFailure(c, read)
  const { version, since, digest, text } = read
  const etag = `"${digest}"`
  const headers = { ...readHeaders(fixed), etag, 'lares-since': String(since) }
  if (isKnown(c.req.header('if-none-match'), etag)) return replyEmpty(c, 304, { version, headers })
  return reply(c, text, { version, headers })
}

async function rows(
  c: EdgeContext,
  list: string,
  asked: ReturnType<Visit['stub']['listRows']>,
): Promise<Response> {
  const page = await asked
  if (!page.ok) return replyFailure(c, page)
  const next = page.next === null ? 'null' : JSON.stringify(encodeCursor(list, page.next))
  return reply(c, `{"items":[${page.items.join('')}],"next":${next}}`, {
    version: page.version,
    headers: readHeaders(isFixed(c)),
  })
}

function cursorOf(list: string, cursor: string | undefined): string | null {
  if (cursor === undefined) return null
  const last = decodeCursor(list, cursor)
  if (typeof last !== 'string') throw invalid('this is no cursor of this list', '/cursor')
  return last
}

function nameOf(c: EdgeContext): string {
  return check(tableName, decoded(c.req.param('t') ?? ''))
}

/** What comes after `rows/`; a slash in it may stand as itself. */
function rowKeyOf(c: EdgeContext): string {
  const [, ...rest] = c.req.path.split('/').slice(6)
  if (rest.length === 0) throw new Problem(fail('not_found', 'name a row'))
  return decoded(rest.join('/'))
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new Problem(fail('invalid', 'the path is not percent-encoded UTF-8', { pointer: 'path' }))
  }
}
