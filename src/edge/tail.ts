// `…/tail`: each commit as it happens, as server-sent events or over a WebSocket.

import type { Hono } from 'hono'
import { parseWhole } from '../protocol/paging.ts'
import type { EdgeContext, EdgeEnv } from './context.ts'
import { corsHeaders } from './cors.ts'
import { sessionRoute, type Visit } from './door.ts'
import { type Query, readQuery } from './query.ts'
import { reply, replyFailure } from './reply.ts'
import { eventStream } from './sse.ts'
import { openTail } from './tail-socket.ts'

export function tailRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'get', '/tail', 'read', async (visit: Visit) => {
    const { c, who } = visit
    const query = readQuery(c, ['after'])
    const start = startOf(c, query)
    if (c.req.method === 'HEAD') return described(visit)
    const response = await openTail(visit, start)
    const headers = {
      'lares-request-id': c.get('requestId'),
      'lares-version': response.headers.get('lares-version') ?? '0',
    }
    if (c.req.header('upgrade')?.toLowerCase() === 'websocket') {
      return new Response(null, { status: 101, webSocket: response.webSocket, headers })
    }
    return new Response(eventStream(response.webSocket, who.expiresAt), {
      headers: { ...corsHeaders, ...headers, ...streamHeaders },
    })
  })
}

const streamHeaders = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' }

/** The headers alone, of a tail that nobody would read. */
async function described({ c, stub }: Visit): Promise<Response> {
  const session = await stub.describe()
  if (!session.ok) return replyFailure(c, session)
  return reply(c, null, { version: session.version, headers: streamHeaders })
}

/** The last version seen. A reconnecting reader's own word comes first; what is no version can't be continued from. */
function startOf(c: EdgeContext, query: Query): number | 'head' | null {
  const raw = c.req.header('last-event-id') ?? query.get('after')
  return raw === undefined ? 'head' : parseWhole(raw)
}
