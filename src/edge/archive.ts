// `…/export` and `/v1/import`: carrying a whole world away, and bringing one in.

import type { Hono } from 'hono'
import { replyArchive } from './archive-out.ts'
import type { EdgeEnv } from './context.ts'
import { sessionRoute } from './door.ts'
import { readAt, readChoice, readQuery } from './query.ts'

export function archiveRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'get', '/export', 'read', (visit) => {
    const query = readQuery(visit.c, ['at', 'journal'])
    const journal = readChoice(query, 'journal', ['true', 'false'] as const, 'false') === 'true'
    return replyArchive(visit, readAt(query), journal)
  })
}
