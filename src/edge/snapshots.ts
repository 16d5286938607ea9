// `…/snapshots`: naming a moment of a world, and what it consists of.

import type { Hono } from 'hono'
import { fail } from '../protocol/errors.ts'
import { decodeCursor, encodeCursor } from '../protocol/paging.ts'
import { snapshotBody, snapshotName } from '../protocol/time.ts'
import { readBody, readText } from './body.ts'
import { callerOf } from './caller.ts'
import type { EdgeContext, EdgeEnv } from './context.ts'
import { sessionRoute } from './door.ts'
import { invalid, pointOf, readCursor, readLimit, readQuery } from './query.ts'
import { Problem, replyEmpty, replyFailure, replyJson } from './reply.ts'

export function snapshotRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'post', '/snapshots', 'snapshot', async ({ c, stub }) => {
    readQuery(c, [])
    const text = await readText(c)
    const { name, at, message } = await readBody(c, snapshotBody, text)
    const made = await stub.snapshot(callerOf(c, text), { name, at: pointOf(at, '/at'), message })
    if (!made.ok) return replyFailure(c, made)
    const { ok: _, ...snapshot } = made
    return replyJson(c, snapshot, { status: 201, version: snapshot.version })
  })

  sessionRoute(app, 'get', '/snapshots', 'read', async ({ c, stub }) => {
    const query = readQuery(c, ['limit', 'cursor'])
    const page = await stub.listSnapshots(readCursor(query, 'snapshots', 'string'), readLimit(query))
    if (!page.ok) return replyFailure(c, page)
    const next = page.next === null ? null : encodeCursor('snapshots', page.next)
    return replyJson(c, { items: page.items, next }, { version: page.version })
  })

  sessionRoute(app, 'get', '/snapshots/:name', 'read', async ({ c, stub }) => {
    readQuery(c, [])
    const read = await stub.readSnapshot(nameOf(c))
    if (!read.ok) return replyFailure(c, read)
    const { ok: _, ...snapshot } = read
    return replyJson(c, snapshot, { version: snapshot.version })
  })

  sessionRoute(app, 'get', '/snapshots/:name/objects', 'read', async ({ c, stub }) => {
    const query = readQuery(c, ['limit', 'cursor'])
    const raw = query.get('cursor')
    const list = `objects.${nameOf(c)}`
    const after = raw === undefined ? null : decodeCursor(list, raw)
    if (raw !== undefined && (typeof after !== 'string' || !/^\d{1,9}$/.test(after))) {
      throw invalid('this is no cursor of this list', 'cursor')
    }
    const page = await stub.snapshotObjects(
      nameOf(c),
      typeof after === 'string' ? after : null,
      readLimit(query),
    )
    if (!page.ok) return replyFailure(c, page)
    const next = page.next === null ? null : encodeCursor(list, page.next)
    return replyJson(c, { items: page.items, next }, { version: page.version })
  })

  sessionRoute(app, 'delete', '/snapshots/:name', 'snapshot', async ({ c, stub }) => {
    readQuery(c, [])
    const dropped = await stub.dropSnapshot(callerOf(c, ''), nameOf(c))
    return dropped.ok ? replyEmpty(c, 204, { version: dropped.version }) : replyFailure(c, dropped)
  })
}

function nameOf(c: EdgeContext): string {
  const name = c.req.param('name') ?? ''
  if (!snapshotName.safeParse(name).success) throw new Problem(fail('not_found', 'there is no such snapshot'))
  return name
}
