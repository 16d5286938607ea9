// `…/forks`: a new session that begins as this one was at a version.

import type { Hono } from 'hono'
import { ulid } from 'ulid'
import { sees } from '../auth/scopes.ts'
import { hashes, hex } from '../crypto.ts'
import { fail } from '../protocol/errors.ts'
import { forkBody } from '../protocol/time.ts'
import { readOptionalBody, readText } from './body.ts'
import { callerOf } from './caller.ts'
import type { EdgeEnv } from './context.ts'
import { idempotencyKey, sessionRoute, sessionStub } from './door.ts'
import { pointOf, readQuery } from './query.ts'
import { Problem, replyFailure, replyJson } from './reply.ts'

export function forkRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'post', '/forks', 'fork', async ({ c, who, session, stub }) => {
    readQuery(c, [])
    const text = await readText(c)
    const { session: named, at, title, labels } = await readOptionalBody(c, forkBody, text)
    const key = idempotencyKey(c)
    // With an idempotency key the name follows from it, so that a retry finds the fork it made.
    const derived =
      key === null
        ? ulid().toLowerCase()
        : hex(hashes.sha256('lares fork name\n', who.fleet, '\n', session, '\n', key)).slice(0, 32)
    const child = named ?? derived
    if (!sees(who, child)) {
      throw new Problem(
        fail('forbidden', 'the credential does not cover a session of that name', { pointer: '/session' }),
      )
    }
    const seed = await stub.beginFork(pointOf(at, '/at'), child)
    if (!seed.ok) return replyFailure(c, seed)
    const { ok: _, ...rest } = seed
    const made = await sessionStub(c, who.fleet, child).adopt(
      callerOf(c, text),
      { fleet: who.fleet, session: child, title, labels },
      rest,
    )
    if (!made.ok) return replyFailure(c, made)
    const { origin, version } = made.session
    return replyJson(
      c,
      { session: child, origin, version },
      {
        status: 201,
        version,
        headers: { location: `/v1/sessions/${encodeURIComponent(child)}` },
      },
    )
  })
}
