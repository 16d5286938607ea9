// `…/lease`: taking, renewing and releasing the exclusive right to write.

import type { Hono } from 'hono'
import { leaseBody, leaseRenew } from '../protocol/resources.ts'
import type { Caller } from '../session/rpc.ts'
import { readBody, readOptionalBody, readText } from './body.ts'
import { callerOf } from './caller.ts'
import type { EdgeContext, EdgeEnv } from './context.ts'
import { requireScope, sessionRoute } from './door.ts'
import { readQuery } from './query.ts'
import { replyEmpty, replyFailure, replyJson } from './reply.ts'

export function leaseRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'post', '/lease', 'write', async ({ c, who, stub }) => {
    readQuery(c, [])
    const text = await readText(c)
    const { holder, ttl, steal = false } = await readBody(c, leaseBody, text)
    if (steal) requireScope(who, 'lease')
    const granted = await stub.acquireLease(asThemselves(callerOf(c, text)), { holder, ttl, steal })
    if (!granted.ok) return replyFailure(c, granted)
    const { epoch, token, expires_at, version } = granted
    return replyJson(c, { epoch, token, expires_at }, { status: 201, version })
  })

  sessionRoute(app, 'put', '/lease', 'write', async ({ c, stub }) => {
    readQuery(c, [])
    const { ttl } = await readOptionalBody(c, leaseRenew)
    const renewed = await stub.renewLease(leaseToken(c), ttl)
    if (!renewed.ok) return replyFailure(c, renewed)
    const { epoch, token, expires_at, version } = renewed
    return replyJson(c, { epoch, token, expires_at }, { version })
  })

  sessionRoute(app, 'delete', '/lease', 'write', async ({ c, stub }) => {
    readQuery(c, [])
    const released = await stub.releaseLease(leaseToken(c))
    return released.ok ? replyEmpty(c, 204, { version: released.version }) : replyFailure(c, released)
  })
}

/** The answer holds a secret: whoever else uses the same key must not be given it. */
function asThemselves(caller: Caller): Caller {
  const { idempotency, actor } = caller
  if (idempotency === undefined) return caller
  return { ...caller, idempotency: { ...idempotency, key: `${idempotency.key}\n${actor}` } }
}

/** None is as stale as an old one; the object says what the epoch is. */
function leaseToken(c: EdgeContext): string {
  return c.req.header('lares-lease') ?? ''
}
