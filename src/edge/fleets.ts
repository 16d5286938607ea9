// Fleets and their keys, for the root key; session tokens, for whoever holds a key or a token; activity over all sessions.

import type { Hono } from 'hono'
import { z } from 'zod'
import { createFleet, createKey, deleteKey, revokeToken } from '../auth/admin.ts'
import { sees } from '../auth/scopes.ts'
import { mint } from '../auth/tokens.ts'
import { listFleetCommits } from '../catalog/index.ts'
import { type Failure, fail } from '../protocol/errors.ts'
import { fleetPattern, fleetRule } from '../protocol/names.ts'
import { decodeCursor, encodeCursor } from '../protocol/paging.ts'
import { keyBody, tokenBody } from '../protocol/resources.ts'
import { readBody, readOptionalBody } from './body.ts'
import type { EdgeContext, EdgeEnv } from './context.ts'
import { fleetRoute } from './door.ts'
import { invalid, readLimit, readQuery } from './query.ts'
import { Problem, replyEmpty, replyFailure, replyJson } from './reply.ts'

export function fleetRoutes(app: Hono<EdgeEnv>): void {
  fleetRoute(app, 'put', '/v1/fleets/:f', 'root', async (c) => {
    readQuery(c, [])
    const fleet = fleetOf(c)
    await readOptionalBody(c, nothing)
    const made = await createFleet(c.env, fleet)
    return made.ok
      ? replyJson(c, { fleet }, { status: made.created ? 201 : 200 })
      : replyFailure(c, fail(made.code, made.detail))
  })

  fleetRoute(app, 'post', '/v1/fleets/:f/keys', 'root', async (c) => {
    readQuery(c, [])
    const { label } = await readOptionalBody(c, keyBody)
    const made = await createKey(c.env, fleetOf(c), label ?? null)
    if (!made.ok) return replyFailure(c, fail(made.code, 'no such fleet'))
    return replyJson(
      c,
      { key: made.key, id: made.id },
      { status: 201, headers: { 'cache-control': 'no-store' } },
    )
  })

  fleetRoute(app, 'delete', '/v1/fleets/:f/keys/:id', 'root', async (c) => {
    readQuery(c, [])
    const deleted = await deleteKey(c.env, fleetOf(c), c.req.param('id') ?? '')
    return deleted.ok ? replyEmpty(c, 204) : replyFailure(c, fail(deleted.code, 'no such key'))
  })

  fleetRoute(app, 'post', '/v1/tokens', 'any', async (c) => {
    readQuery(c, [])
    const minted = await mint(c.env, c.get('who'), await readBody(c, tokenBody), Date.now())
    if (!minted.ok) return replyFailure(c, asFailure(minted))
    const { token, id, expires_at } = minted
    return replyJson(
      c,
      { token, id, expires_at: new Date(expires_at).toISOString() },
      { status: 201, headers: { 'cache-control': 'no-store' } },
    )
  })

  fleetRoute(app, 'delete', '/v1/tokens/:id', 'any', async (c) => {
    readQuery(c, [])
    const revoked = await revokeToken(c.env, c.get('who'), c.req.param('id') ?? '')
    if (revoked.ok) return replyEmpty(c, 204)
    return replyFailure(c, fail(revoked.code, 'detail' in revoked ? revoked.detail : 'no such token'))
  })

  fleetRoute(app, 'get', '/v1/commits', 'read', async (c) => {
    const query = readQuery(c, ['after', 'limit', 'cursor'])
    const who = c.get('who')
    // `after` takes what `next` gave, here as well as `cursor` does everywhere.
    const raw = query.get('cursor') ?? query.get('after')
    const after = raw === undefined ? null : decodeCursor('activity', raw)
    if (raw !== undefined && typeof after !== 'string')
      throw invalid('this is no cursor of this list', 'after')
    const page = await listFleetCommits(c.env.CATALOG, who.fleet, {
      limit: readLimit(query),
      after: typeof after === 'string' ? after : null,
      visible: { pattern: who.sessions, matches: (session) => sees(who, session) },
    })
    if (!page.ok) throw invalid('this is no cursor of this list', 'after')
    return replyJson(c, {
      items: page.items,
      next: page.next === null ? null : encodeCursor('activity', page.next),
    })
  })
}

/** A fleet has nothing but its name; a field that someone sends is a mistake to tell of. */
const nothing = z.strictObject({})

function fleetOf(c: EdgeContext): string {
  const fleet = c.req.param('f') ?? ''
  if (!fleetPattern.test(fleet))
    throw new Problem(fail('invalid', `not a fleet name: ${fleetRule}`, { pointer: 'fleet' }))
  return fleet
}

function asFailure(refused: { code: 'forbidden' | 'invalid'; detail: string; pointer?: string }): Failure {
  return fail(refused.code, refused.detail, refused.pointer === undefined ? {} : { pointer: refused.pointer })
}
