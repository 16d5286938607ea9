// `…/query`: one read-only SQL statement over the whole world, and what there is to ask about.

import type { Hono } from 'hono'
import { limits } from '../protocol/limits.ts'
import { sqlQuery } from '../protocol/tables.ts'
import { readBody } from './body.ts'
import type { EdgeEnv } from './context.ts'
import { sessionRoute } from './door.ts'
import { pointOf, readAt, readQuery } from './query.ts'
import { reply, replyFailure } from './reply.ts'

export function sqlRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'post', '/query', 'read', async ({ c, stub }) => {
    readQuery(c, [])
    const { sql, params, at, limit } = await readBody(c, sqlQuery)
    const answer = await stub.query({
      sql,
      params: params ?? null,
      at: pointOf(at, '/at'),
      limit: Math.min(limit ?? limits.sqlRowsDefault, limits.sqlRows),
    })
    if (!answer.ok) return replyFailure(c, answer)
    return reply(c, answer.text, { version: answer.version })
  })

  sessionRoute(app, 'get', '/query/schema', 'read', async ({ c, stub }) => {
    const schema = await stub.querySchema(readAt(readQuery(c, ['at'])))
    return schema.ok ? reply(c, schema.text, { version: schema.version }) : replyFailure(c, schema)
  })
}
