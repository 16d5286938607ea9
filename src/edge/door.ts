// The choke point. Every route is registered with what it needs, and its handler runs only for someone who has it: no
// handler can be reached, and no session named, by another way.

import type { Hono } from 'hono'
import { authenticate, remembered } from '../auth/authenticate.ts'
import { bearerOf, credentialFrom } from '../auth/credential.ts'
import { fleetExists } from '../auth/fleet-view.ts'
import { DEFAULT_FLEET } from '../auth/names.ts'
import type { Principal } from '../auth/principal.ts'
import { can, type Need, sees } from '../auth/scopes.ts'
import { fail } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import { sessionIdPattern, sessionIdRule } from '../protocol/names.ts'
import type { SessionStub } from '../session/rpc.ts'
import type { EdgeContext, EdgeEnv } from './context.ts'
import { Problem } from './reply.ts'

export type Method = 'get' | 'put' | 'post' | 'patch' | 'delete'

/** What a route needs: a scope; any credential at all (the handler's own check follows); or the root key. */
export type RouteNeed = Need | 'any' | 'root'

/** A request inside one session, by someone who may see it. */
export interface Visit {
  c: EdgeContext
  who: Principal
  session: string
  /** A fresh stub a request: one that has thrown may be broken. */
  stub: SessionStub
}

type Handler = (c: EdgeContext) => Promise<Response>

/** A route inside a session. What the caller may not see is not there. */
export function sessionRoute(
  app: Hono<EdgeEnv>,
  method: Method,
  path: string,
  need: RouteNeed,
  handle: (visit: Visit) => Promise<Response>,
): void {
  const full = `/v1/sessions/:s${path}`
  app.on(
    method.toUpperCase(),
    full,
    admitted(need, async (c) => handle(visitOf(c))),
  )
}

/** A route of the fleet or of the operator. */
export function fleetRoute(
  app: Hono<EdgeEnv>,
  method: Method,
  path: string,
  need: RouteNeed,
  handle: Handler,
): void {
  app.on(method.toUpperCase(), path, admitted(need, handle))
}

function admitted(need: RouteNeed, handle: Handler): Handler {
  return async (c) => {
    const who = await identify(c, need)
    c.set('who', who)
    // First whether the session is theirs to see: a missing scope must not tell that it is there.
    const session = c.req.param('s')
    if (session !== undefined) requireVisible(who, session)
    require(who, need)
    return handle(c)
  }
}

async function identify(c: EdgeContext, need: RouteNeed): Promise<Principal> {
  const credential = credentialFrom(c.req.raw)
  const fleetHeader = c.req.header('lares-fleet') ?? null
  const now = Date.now()
  const who =
    remembered(credential, fleetHeader, now) ??
    (await authenticate(c.env, credential, fleetHeader, now, (promise) => c.executionCtx.waitUntil(promise)))
  if (who === null) throw new Problem(fail('unauthenticated', whyUnknown(credential)))
  // The root key names its fleet itself; a misspelt one must not become a fleet of its own.
  if (who.root && who.fleet !== DEFAULT_FLEET && need !== 'root') {
    if (!(await fleetExists(c.env, who.fleet, now))) throw new Problem(fail('not_found', 'no such fleet'))
  }
  return who
}

/** What the caller can see for itself: whether a credential was sent, and in a form that could be one. */
function whyUnknown(credential: string | null): string {
  return credential === null || bearerOf(credential) === null
    ? 'send a key or token as Authorization: Bearer KEY'
    : 'this key or token is unknown, expired or revoked'
}

function require(who: Principal, need: RouteNeed): void {
  if (need === 'any') return
  if (need === 'root' ? who.root : can(who, need)) return
  throw new Problem(
    fail('forbidden', need === 'root' ? 'this takes the root key' : `this needs the scope ${need}`),
  )
}

/** A second scope that only some requests to a route need. */
export function requireScope(who: Principal, need: Need): void {
  require(who, need)
}

function requireVisible(who: Principal, session: string): void {
  if (!sessionIdPattern.test(session))
    throw new Problem(fail('invalid', `not a session id: ${sessionIdRule}`, { pointer: 'session' }))
  if (!sees(who, session)) throw new Problem(fail('not_found', 'no such session'))
}

function visitOf(c: EdgeContext): Visit {
  const who = c.get('who')
  const session = c.req.param('s') ?? ''
  return { c, who, session, stub: sessionStub(c, who.fleet, session) }
}

export function sessionStub(
  c: EdgeContext,
  fleet: string,
  session: string,
  locationHint?: DurableObjectLocationHint,
): SessionStub {
  const { SESSION } = c.env
  const stub = SESSION.get(
    SESSION.idFromName(`${fleet}/${session}`),
    locationHint === undefined ? {} : { locationHint },
  )
  // The edge knows the object by its RPC type alone; the platform's own mapping of it loses JSON of unknown shape.
  return stub as unknown as SessionStub
}

/**
 * What comes after a session's resource in the path, decoded once: a key or a path, slashes included.
 *
 * @param resource the first segment below the session; a session may itself be named so
 */
export function restOfPath(c: EdgeContext, resource: string): string {
  const [, , , , named, ...rest] = c.req.path.split('/')
  // The router takes `/state` for `/state/*` too; that is the list, which has no such method.
  if (named !== resource || rest.length === 0) throw new Problem(fail('not_found', 'name a key or a path'))
  try {
    return decodeURIComponent(rest.join('/'))
  } catch {
    throw new Problem(fail('invalid', 'the path is not percent-encoded UTF-8', { pointer: 'path' }))
  }
}

/** The key under which a retry finds the first answer; null when the caller gave none. */
export function idempotencyKey(c: EdgeContext): string | null {
  const key = c.req.header('idempotency-key')
  if (key === undefined) return null
  if (key === '' || key.length > limits.idempotencyKey) {
    throw new Problem(
      fail('invalid', `an Idempotency-Key has 1 to ${limits.idempotencyKey} characters`, {
        pointer: 'Idempotency-Key',
      }),
    )
  }
  return key
}
