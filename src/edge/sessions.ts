// `/v1/sessions`: making, describing, changing and deleting sessions, and the fleet's list of them.

import type { Hono } from 'hono'
import { ulid } from 'ulid'
import { sees } from '../auth/scopes.ts'
import { listSessions } from '../catalog/index.ts'
import { hashes, hex } from '../crypto.ts'
import { fail } from '../protocol/errors.ts'
import { decodeCursor, encodeCursor } from '../protocol/paging.ts'
import { type SessionCreate, sessionCreate, sessionPatch } from '../protocol/resources.ts'
import { readBody, readOptionalBody, readText } from './body.ts'
import { callerOf } from './caller.ts'
import type { EdgeContext, EdgeEnv } from './context.ts'
import { fleetRoute, idempotencyKey, requireScope, sessionRoute, sessionStub } from './door.ts'
import { invalid, readChoice, readLimit, readQuery, readTime } from './query.ts'
import { Problem, replyEmpty, replyFailure, replyJson } from './reply.ts'

export function sessionRoutes(app: Hono<EdgeEnv>): void {
  fleetRoute(app, 'get', '/v1/sessions', 'read', list)

  fleetRoute(app, 'post', '/v1/sessions', 'write', async (c) => {
    readQuery(c, [])
    const text = await readText(c)
    const name = newName(c)
    if (!sees(c.get('who'), name))
      throw new Problem(
        fail('forbidden', 'the credential is for sessions of certain names; name one with PUT'),
      )
    return create(c, name, text, await readOptionalBody(c, sessionCreate, text))
  })

  sessionRoute(app, 'put', '', 'write', async ({ c, session }) => {
    readQuery(c, [])
    const text = await readText(c)
    return create(c, session, text, await readOptionalBody(c, sessionCreate, text))
  })

  sessionRoute(app, 'get', '', 'read', async ({ c, stub }) => {
    readQuery(c, [])
    const described = await stub.describe()
    if (!described.ok) return replyFailure(c, described)
    return replyJson(c, described.session, {
      version: described.version,
      headers: { 'cache-control': 'private, no-cache' },
    })
  })

  sessionRoute(app, 'patch', '', 'write', async ({ c, who, stub }) => {
    readQuery(c, [])
    const text = await readText(c)
    const patch = await readBody(c, sessionPatch, text)
    // When a world ends, or forgets, is not a matter of writing in it.
    if (patch.expires_in !== undefined || patch.retention !== undefined) requireScope(who, 'admin')
    const patched = await stub.patch(callerOf(c, text), patch)
    if (!patched.ok) return replyFailure(c, patched)
    return replyJson(c, patched.session, { version: patched.version })
  })

  sessionRoute(app, 'delete', '', 'admin', async ({ c, stub }) => {
    readQuery(c, [])
    const outcome = await stub.destroy()
    return outcome.ok ? replyEmpty(c, 204) : replyFailure(c, outcome)
  })
}

async function create(c: EdgeContext, session: string, text: string, body: SessionCreate): Promise<Response> {
  const { fleet } = c.get('who')
  const { location, ...init } = body
  const stub = sessionStub(c, fleet, session, location)
  const outcome = await stub.create(callerOf(c, text), { fleet, session, ...init })
  if (!outcome.ok) return replyFailure(c, outcome)
  const { version, created } = outcome
  return replyJson(c, outcome.session, {
    status: created ? 201 : 200,
    version,
    headers: { location: `/v1/sessions/${encodeURIComponent(session)}` },
  })
}

/** A name for a session nobody named. With an idempotency key it follows from the key, so that a retry finds the same one. */
function newName(c: EdgeContext): string {
  const key = idempotencyKey(c)
  if (key === null) return ulid().toLowerCase()
  return hex(hashes.sha256('lares session name\n', c.get('who').fleet, '\n', key)).slice(0, 32)
}

async function list(c: EdgeContext): Promise<Response> {
  const who = c.get('who')
  const names = ['updated_after', 'prefix', 'q', 'order', 'limit', 'cursor']
  const query = readQuery(c, names, 'label.')
  const order = readChoice(query, 'order', ['updated', 'created', 'id'] as const, 'updated')
  const named = [...query].filter(([name]) => name.startsWith('label.'))
  // fromEntries defines members, so that a label called `__proto__` filters like any other.
  const labels = Object.fromEntries(named.map(([name, value]) => [name.slice('label.'.length), value]))
  const since = query.get('updated_after')
  const updated_after = since === undefined ? undefined : readTime(since)
  if (updated_after === null) throw invalid('updated_after is an RFC 3339 time', 'updated_after')
  const listName = `sessions.${order}`
  const cursor = query.get('cursor')
  const after = cursor === undefined ? null : decodeCursor(listName, cursor)
  if (cursor !== undefined && typeof after !== 'string')
    throw invalid('this is no cursor of this list', 'cursor')
  const page = await listSessions(c.env.CATALOG, who.fleet, {
    labels,
    order,
    updated_after,
    prefix: query.get('prefix'),
    q: query.get('q'),
    limit: readLimit(query),
    after: typeof after === 'string' ? after : null,
    visible: { pattern: who.sessions, matches: (session) => sees(who, session) },
  })
  if (!page.ok) throw invalid('this is no cursor of this list', 'cursor')
  const next = page.next === null ? null : encodeCursor(listName, page.next)
  return replyJson(c, { items: page.items, next })
}
