// `…/verify` and `…/erase`: showing that a world is what it says it is, and taking something out of it for good.

import type { Hono } from 'hono'
import { can, sees } from '../auth/scopes.ts'
import { fail } from '../protocol/errors.ts'
import { decodeCursor, encodeCursor } from '../protocol/paging.ts'
import { eraseBody } from '../protocol/time.ts'
import { type Found, type VerifyCursor, verifyPhases } from '../session/rpc.ts'
import { readBody, readText } from './body.ts'
import { callerOf } from './caller.ts'
import type { EdgeEnv } from './context.ts'
import { sessionRoute, sessionStub, type Visit } from './door.ts'
import { invalid, type Query, readQuery } from './query.ts'
import { Problem, replyFailure, replyJson } from './reply.ts'

/** Steps of one request; a larger world answers with a cursor to go on from. */
const mostSteps = 200
const mostProblems = 1000
/** Milliseconds after which a request stops and hands out a cursor. */
const mostTime = 20_000

export function proofRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'get', '/verify', 'read', verify)

  sessionRoute(app, 'post', '/erase', 'admin', async (visit) => {
    const { c, who, stub } = visit
    readQuery(c, [])
    const text = await readText(c)
    const { refs, message } = await readBody(c, eraseBody, text)
    const found = await stub.eraseOwners(refs)
    if (!found.ok) return replyFailure(c, found)
    // A value that was inherited must go where it came from, or it would live on there and in every other fork.
    for (const { session } of found.owners) {
      if (!sees(who, session) || !can(who, 'admin')) {
        throw new Problem(
          fail('forbidden', 'a value was inherited from a session that the credential does not cover'),
        )
      }
    }
    let erased = 0
    let own: number | null = null
    for (const { session, targets } of found.owners) {
      const caller = callerOf(c, text)
      const first = session === visit.session ? stub : sessionStub(c, who.fleet, session)
      const outcome = await first.erase(caller, targets, message)
      // An ancestor that was deleted has nothing left to erase, and passes it on to the forks that do.
      if (!outcome.ok && outcome.code === 'gone') await first.relayErase(caller, targets)
      else if (!outcome.ok) return replyFailure(c, outcome)
      erased += outcome.ok ? outcome.erased : targets.length
      if (outcome.ok && session === visit.session) own = outcome.version
    }
    if (own !== null) return replyJson(c, { version: own, erased }, { version: own })
    const described = await stub.describe()
    if (!described.ok) return replyFailure(c, described)
    return replyJson(c, { version: described.version, erased }, { version: described.version })
  })
}

async function verify({ c, stub }: Visit): Promise<Response> {
  let cursor: VerifyCursor | null = readVerifyCursor(readQuery(c, ['cursor']))
  const started = Date.now()
  const problems: Found[] = []
  let checked = 0
  let erased = 0
  for (let step = 0; cursor !== null && step < mostSteps && Date.now() - started < mostTime; step++) {
    const outcome = await stub.verifyStep(cursor)
    if (!outcome.ok) return replyFailure(c, outcome)
    checked += outcome.checked
    erased += outcome.erased
    problems.push(...outcome.problems.slice(0, mostProblems - problems.length))
    cursor = outcome.next
  }
  const state = await stub.root()
  if (!state.ok) return replyFailure(c, state)
  const { version, root, digest } = state
  const next = cursor === null ? null : encodeCursor('verify', JSON.stringify(cursor))
  return replyJson(
    c,
    { ok: problems.length === 0, root, digest, checked, erased, problems, next },
    { version },
  )
}

function readVerifyCursor(query: Query): VerifyCursor {
  const raw = query.get('cursor')
  if (raw === undefined) return { phase: verifyPhases[0], after: [] }
  const text = decodeCursor('verify', raw)
  const cursor: unknown = typeof text === 'string' ? parse(text) : null
  if (!isCursor(cursor)) throw invalid('this is no cursor of this list', 'cursor')
  return cursor
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function isCursor(value: unknown): value is VerifyCursor {
  if (typeof value !== 'object' || value === null) return false
  const after: unknown = Reflect.get(value, 'after')
  return (
    verifyPhases.some((phase) => phase === Reflect.get(value, 'phase')) &&
    Array.isArray(after) &&
    after.length <= 3 &&
    after.every((one) => typeof one === 'string' || (typeof one === 'number' && Number.isSafeInteger(one)))
  )
}
