// `…/lineage`: what made this, what came of it.

import type { Hono } from 'hono'
import { limits } from '../protocol/limits.ts'
import type { EdgeEnv } from './context.ts'
import { sessionRoute } from './door.ts'
import { isFixed, readHeaders } from './lists.ts'
import { invalid, readAt, readChoice, readQuery, readWhole } from './query.ts'
import { replyFailure, replyJson } from './reply.ts'

export function lineageRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'get', '/lineage', 'read', async ({ c, stub }) => {
    const query = readQuery(c, ['of', 'direction', 'depth', 'at'])
    const of = query.get('of')
    if (of === undefined) throw invalid('of names what is asked about', 'of')
    const depth = readWhole(query, 'depth') ?? 10
    if (depth < 1) throw invalid('depth is a whole number from 1', 'depth')
    const answer = await stub.lineage({
      of,
      direction: readChoice(query, 'direction', ['up', 'down'], 'up'),
      depth: Math.min(depth, limits.lineageDepth),
      at: readAt(query),
    })
    if (!answer.ok) return replyFailure(c, answer)
    const { version, nodes, edges, more } = answer
    return replyJson(c, { of, version, nodes, edges, more }, { version, headers: readHeaders(isFixed(c)) })
  })
}
