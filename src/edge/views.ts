// `…/views`: queries with a name.

import type { Hono } from 'hono'
import { tableName, viewBody } from '../protocol/tables.ts'
import { check, readBody, readText } from './body.ts'
import type { EdgeContext, EdgeEnv } from './context.ts'
import { sessionRoute } from './door.ts'
import { replyPage } from './lists.ts'
import { readAt, readCursor, readLimit, readQuery } from './query.ts'
import { replyFailure } from './reply.ts'
import { replyShown, write } from './tables.ts'

export function viewRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'get', '/views', 'read', async (visit) => {
    const query = readQuery(visit.c, ['at', 'limit', 'cursor'])
    const page = await visit.stub.listViews({
      at: readAt(query),
      limit: readLimit(query),
      cursor: readCursor(query, 'views', 'string'),
    })
    return page.ok ? replyPage(visit, 'views', page) : replyFailure(visit.c, page)
  })

  sessionRoute(app, 'get', '/views/:v', 'read', async ({ c, stub }) => {
    const at = readAt(readQuery(c, ['at']))
    return replyShown(c, at !== null && 'version' in at, await stub.readView(nameOf(c), at))
  })

  sessionRoute(app, 'put', '/views/:v', 'write', async (visit) => {
    const text = await readText(visit.c)
    const { sql } = await readBody(visit.c, viewBody, text)
    return write(visit, text, { op: 'view.define', view: nameOf(visit.c), sql })
  })

  sessionRoute(app, 'delete', '/views/:v', 'write', async (visit) =>
    write(visit, '', { op: 'view.drop', view: nameOf(visit.c) }, { must: true }),
  )
}

function nameOf(c: EdgeContext): string {
  return check(tableName, c.req.param('v') ?? '')
}
