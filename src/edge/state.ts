// `…/state/{key}`: the body is the value.

import type { Hono } from 'hono'
import { fail } from '../protocol/errors.ts'
import { keyProblem } from '../protocol/names.ts'
import type { Operation } from '../protocol/ops.ts'
import { jsonValue } from '../protocol/values.ts'
import type { WireOperation } from '../session/rpc.ts'
import { readBody, readText } from './body.ts'
import type { EdgeContext, EdgeEnv } from './context.ts'
import { restOfPath, sessionRoute, type Visit } from './door.ts'
import { isKnown, readHeaders, replyPage } from './lists.ts'
import { commitAny } from './patch-large.ts'
import { readAt, readLimit, readPlace, readQuery } from './query.ts'
import { Problem, reply, replyEmpty, replyFailure, replyJson } from './reply.ts'
import { fill } from './spill.ts'

const value = jsonValue()

export function stateRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'get', '/state', 'read', async (visit) => {
    const query = readQuery(visit.c, ['prefix', 'at', 'limit', 'cursor'])
    const page = await visit.stub.listEntries('state', {
      at: readAt(query),
      limit: readLimit(query),
      ...readPlace(query, 'state'),
      delimiter: null,
      within: null,
    })
    return page.ok ? replyPage(visit, 'state', page) : replyFailure(visit.c, page)
  })

  sessionRoute(app, 'get', '/state/*', 'read', async ({ c, who, stub }) => {
    const query = readQuery(c, ['at'])
    const at = readAt(query)
    const read = await stub.readEntry('state', keyOf(c), at)
    if (!read.ok) return replyFailure(c, read)
    const { version } = read
    const etag = `"${read.digest}"`
    const headers = {
      ...readHeaders(at !== null && 'version' in at),
      etag,
      'lares-since': String(read.since),
    }
    if (isKnown(c.req.header('if-none-match'), etag)) return replyEmpty(c, 304, { version, headers })
    return reply(c, fill(c.env, who.fleet, [read.value]), { version, headers })
  })

  sessionRoute(app, 'put', '/state/*', 'write', async (visit) => {
    const text = await readText(visit.c)
    const op: Operation = {
      op: 'state.set',
      key: keyOf(visit.c),
      value: await readBody(visit.c, value, text),
    }
    return write(visit, text, op)
  })

  sessionRoute(app, 'patch', '/state/*', 'write', async (visit) => {
    const text = await readText(visit.c)
    const op: Operation = {
      op: 'state.patch',
      key: keyOf(visit.c),
      patch: await readBody(visit.c, value, text),
    }
    return write(visit, text, op)
  })

  sessionRoute(app, 'delete', '/state/*', 'write', async (visit) => {
    return write(visit, '', { op: 'state.delete', key: keyOf(visit.c) }, true)
  })
}

async function write(visit: Visit, text: string, op: Operation, must = false): Promise<Response> {
  const { c } = visit
  readQuery(c, [])
  const ops = [{ ...op, ...preconditions(c), ...(must ? { must: true as const } : {}) }]
  const outcome = await commitAny(visit, text, ops)
  if (!outcome.ok) return replyFailure(c, outcome)
  const { version, at, digest, created } = outcome
  return replyJson(c, { version, at, digest }, { status: created.length > 0 ? 201 : 200, version })
}

/** HTTP's own conditions, as an operation's. */
export function preconditions(c: EdgeContext): Pick<WireOperation, 'match'> & { if?: { absent: true } } {
  const match = c.req.header('if-match')
  const none = c.req.header('if-none-match')
  if (none !== undefined && none.trim() !== '*') {
    throw new Problem(fail('invalid', 'a write takes If-None-Match: * alone', { pointer: 'If-None-Match' }))
  }
  const etag = match === undefined ? null : /^"([0-9a-f]{64})"$/.exec(match.trim())
  if (match !== undefined && !etag) {
    throw new Problem(
      fail('condition_failed', 'If-Match names no value of this session', { pointer: '/ops/0' }),
    )
  }
  return {
    ...(none === undefined ? {} : { if: { absent: true } }),
    ...(etag?.[1] === undefined ? {} : { match: etag[1] }),
  }
}

function keyOf(c: EdgeContext): string {
  const key = restOfPath(c, 'state')
  const problem = keyProblem(key)
  if (problem !== null) throw new Problem(fail('invalid', problem, { pointer: 'key' }))
  return key
}
