// `…/log`: appending without the ceremony of a commit, and reading by seq, with a wait for what is to come.

import type { Hono } from 'hono'
import { fail } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import { parseWhole } from '../protocol/paging.ts'
import { logBody } from '../protocol/resources.ts'
import { readBody, readText } from './body.ts'
import { commitOps } from './commits.ts'
import type { EdgeEnv } from './context.ts'
import { sessionRoute, type Visit } from './door.ts'
import { isKnown, readHeaders, replyPage } from './lists.ts'
import {
  invalid,
  type Query,
  readAt,
  readChoice,
  readCursor,
  readLimit,
  readQuery,
  readWhole,
} from './query.ts'
import { Problem, reply, replyEmpty, replyFailure, replyJson } from './reply.ts'
import { fill } from './spill.ts'
import { nextCommit } from './wait.ts'

export function logRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'post', '/log', 'append', append)
  sessionRoute(app, 'get', '/log', 'read', list)

  sessionRoute(app, 'get', '/log/pending', 'read', async (visit) => {
    const query = readQuery(visit.c, ['at', 'limit', 'cursor'])
    const page = await visit.stub.pending({
      at: readAt(query),
      limit: readLimit(query),
      cursor: readCursor(query, 'pending', 'number'),
    })
    return page.ok ? replyPage(visit, 'pending', page) : replyFailure(visit.c, page)
  })

  sessionRoute(app, 'get', '/log/:seq', 'read', async ({ c, who, stub }) => {
    const query = readQuery(c, ['at'])
    const seq = parseWhole(c.req.param('seq') ?? '', 1)
    if (seq === null) throw new Problem(fail('not_found', 'an event is named by its seq'))
    const at = readAt(query)
    const read = await stub.readEvent(seq, at)
    if (!read.ok) return replyFailure(c, read)
    const { version } = read
    const etag = `"${read.digest}"`
    const headers = {
      ...readHeaders(at !== null && 'version' in at),
      etag,
      'lares-since': String(read.since),
    }
    if (isKnown(c.req.header('if-none-match'), etag)) return replyEmpty(c, 304, { version, headers })
    return reply(c, fill(c.env, who.fleet, read.event), { version, headers })
  })
}

async function append(visit: Visit): Promise<Response> {
  const { c, who } = visit
  readQuery(c, [])
  const text = await readText(c)
  const body = await readBody(c, logBody, text)
  const events = 'events' in body ? body.events : [body]
  const outcome = await commitOps(
    visit,
    text,
    events.map((event) => ({ op: 'log.append' as const, ...event })),
  )
  if (!outcome.ok) return replyFailure(c, atEvents(outcome, 'events' in body))
  const { version, at, digest, results } = outcome
  const shown = events.map(({ type, lane, key, parent }, index) => ({
    seq: results[index]?.seq,
    version,
    at,
    actor: who.actor,
    type,
    lane,
    ...(key === undefined ? {} : { key }),
    ...(parent === undefined ? {} : { parent }),
  }))
  return replyJson(c, { version, at, digest, events: shown }, { status: 201, version })
}

/** The commit points at operations; here the client sent events, or just one. */
function atEvents<T extends { pointer?: string }>(failure: T, many: boolean): T {
  if (failure.pointer === undefined) return failure
  return {
    ...failure,
    pointer: failure.pointer.replace(many ? /^\/ops/ : /^\/ops\/0/, many ? '/events' : ''),
  }
}

async function list(visit: Visit): Promise<Response> {
  const { c, stub } = visit
  const query = readQuery(c, [
    'after',
    'before',
    'order',
    'type',
    'lane',
    'view',
    'wait',
    'at',
    'limit',
    'cursor',
  ])
  const wanted = {
    at: readAt(query),
    limit: readLimit(query),
    cursor: readCursor(query, 'log', 'number'),
    after: readWhole(query, 'after'),
    before: readWhole(query, 'before'),
    order: readChoice(query, 'order', ['asc', 'desc'] as const, 'asc'),
    type: query.get('type') ?? null,
    lane: query.has('lane') ? readChoice(query, 'lane', ['main', 'inbox'] as const, 'main') : null,
    view: readChoice(query, 'view', ['active', 'all'] as const, 'active'),
  }
  const deadline = Date.now() + readWait(query) * 1000
  for (;;) {
    const page = await stub.listLog(wanted)
    if (!page.ok) return replyFailure(c, page)
    const left = deadline - Date.now()
    if (page.items.length > 0 || left <= 0) return replyPage(visit, 'log', page)
    if (await nextCommit(visit, page.version, left)) continue
    // Time is up, or the session ended: what there is to say now, and no more waiting.
    const last = await stub.listLog(wanted)
    return last.ok ? replyPage(visit, 'log', last) : replyFailure(c, last)
  }
}

function readWait(query: Query): number {
  const wait = readWhole(query, 'wait') ?? 0
  if (wait > limits.waitSeconds) throw invalid(`wait is at most ${limits.waitSeconds} seconds`, 'wait')
  if (wait > 0 && query.has('at')) throw invalid('nothing comes to a fixed version', 'wait')
  return wait
}
