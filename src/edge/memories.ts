// `…/memories`, `…/recall` and `…/memory`: what an agent remembers, finding it again, and which vectors it is found by.

import type { Hono } from 'hono'
import { fail } from '../protocol/errors.ts'
import {
  memoryBody,
  memoryId,
  memoryPatch,
  memorySettings,
  type RecallMode,
  recallBody,
  reembedBody,
} from '../protocol/memory.ts'
import type { Operation } from '../protocol/ops.ts'
import type { Embedding } from '../session/memory-rpc.ts'
import { readBody, readOptionalBody, readText } from './body.ts'
import { callerOf } from './caller.ts'
import type { EdgeContext, EdgeEnv } from './context.ts'
import { restOfPath, sessionRoute, type Visit } from './door.ts'
import { embedTexts, spaceOf } from './embedding.ts'
import { isKnown, readHeaders, replyPage } from './lists.ts'
import { commitAny } from './patch-large.ts'
import {
  invalid,
  pointOf,
  type Query,
  readAt,
  readChoice,
  readCursor,
  readLimit,
  readQuery,
} from './query.ts'
import { Problem, replyEmpty, replyFailure, replyJson } from './reply.ts'
import { preconditions } from './state.ts'

export function memoryRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'post', '/memories', 'write', async (visit) => {
    const { c } = visit
    readQuery(c, [])
    const text = await readText(c)
    const fields = await readBody(c, memoryBody, text)
    return write(visit, text, { op: 'memory.add', ...fields }, 201)
  })

  sessionRoute(app, 'get', '/memories', 'read', list)
  sessionRoute(app, 'get', '/memories/*', 'read', read)

  sessionRoute(app, 'patch', '/memories/*', 'write', async (visit) => {
    const { c } = visit
    readQuery(c, [])
    const text = await readText(c)
    const changes = await readBody(c, memoryPatch, text)
    return write(visit, text, { op: 'memory.update', id: idOf(c), ...changes }, 200)
  })

  sessionRoute(app, 'delete', '/memories/*', 'write', async (visit) => {
    readQuery(visit.c, [])
    return write(visit, '', { op: 'memory.forget', id: idOf(visit.c) }, 200, { must: true })
  })

  sessionRoute(app, 'post', '/recall', 'read', recall)

  sessionRoute(app, 'get', '/memory', 'read', async ({ c, stub }) => {
    readQuery(c, [])
    const read = await stub.memoryState()
    return read.ok ? replyJson(c, read.state, { version: read.version }) : replyFailure(c, read)
  })

  sessionRoute(app, 'put', '/memory', 'write', async (visit) => {
    const { c } = visit
    readQuery(c, [])
    const text = await readText(c)
    const settings = await readBody(c, memorySettings, text)
    const outcome = await commitAny(visit, text, [{ op: 'memory.configure', settings }])
    if (!outcome.ok) return replyFailure(c, outcome)
    const { version, at, digest } = outcome
    return replyJson(c, { version, at, digest }, { version })
  })

  sessionRoute(app, 'post', '/memory/reembed', 'write', reembed)
}

async function write(
  visit: Visit,
  text: string,
  op: Operation,
  status: 200 | 201,
  more: { must?: true } = {},
): Promise<Response> {
  const { c } = visit
  const outcome = await commitAny(visit, text, [{ ...op, ...more, ...preconditions(c) }])
  if (!outcome.ok) return replyFailure(c, outcome)
  const { version, at, digest, results } = outcome
  return replyJson(c, { id: results[0]?.id, version, at, digest }, { status, version })
}

async function list(visit: Visit): Promise<Response> {
  const { c, stub } = visit
  const query = readQuery(c, ['tag', 'filter', 'pinned', 'at', 'limit', 'cursor'])
  const tag = query.get('tag')
  const pinned = readChoice(query, 'pinned', ['true', 'false', ''], '')
  const page = await stub.listMemories({
    at: readAt(query),
    limit: readLimit(query),
    cursor: readCursor(query, 'memories', 'string'),
    tags: tag === undefined ? [] : [tag],
    filter: readFilter(query),
    pinned: pinned === '' ? null : pinned === 'true',
  })
  return page.ok ? replyPage(visit, 'memories', page) : replyFailure(c, page)
}

/** A filter as JSON in the query string. */
function readFilter(query: Query): { [name: string]: unknown } | null {
  const raw = query.get('filter')
  if (raw === undefined) return null
  try {
    const filter: unknown = JSON.parse(raw)
    if (typeof filter === 'object' && filter !== null && !Array.isArray(filter)) return { ...filter }
  } catch {
    // Not JSON: said below.
  }
  throw invalid('a filter is a JSON object', 'filter')
}

async function read({ c, stub }: Visit): Promise<Response> {
  const query = readQuery(c, ['at', 'vector'])
  const at = readAt(query)
  const withVector = readChoice(query, 'vector', ['true', 'false'], 'false') === 'true'
  const found = await stub.readMemory(idOf(c), at)
  if (!found.ok) return replyFailure(c, found)
  const { version, memory, vector } = found
  // With the vector it is another answer, and must not be taken for the one without.
  const etag = `"${found.digest}${withVector ? '-v' : ''}"`
  const fixed = at !== null && 'version' in at
  const headers = { ...readHeaders(fixed), etag, 'lares-since': String(memory.since) }
  if (isKnown(c.req.header('if-none-match'), etag)) return replyEmpty(c, 304, { version, headers })
  return replyJson(c, withVector ? { ...memory, vector } : memory, { version, headers })
}

async function recall(visit: Visit): Promise<Response> {
  const { c, stub } = visit
  readQuery(c, [])
  const body = await readBody(c, recallBody)
  const { query = null, k, filter = null, tags = [], at } = body
  const mode: RecallMode = body.mode ?? (query === null ? 'vector' : 'hybrid')
  const asked = await questionVector(visit, mode, query, body.vector)
  const found = await stub.recall({
    query,
    vector: asked.vector,
    k,
    mode,
    filter,
    tags,
    at: pointOf(at, '/at'),
  })
  if (!found.ok) return replyFailure(c, found)
  const reason = asked.reason ?? found.withoutVector
  // A recall by vector alone that has none would look like one that finds nothing.
  if (mode === 'vector' && asked.vector === null && reason !== null) {
    if (asked.failed) throw new Problem(fail('unavailable', reason, { retry_after: 5 }))
    if (asked.reason === null) throw new Problem(fail('invalid', reason, { pointer: '/vector' }))
  }
  const without = reason === null ? {} : { without: [{ half: 'vector', reason }] }
  return replyJson(c, { items: found.items, mode, ...without }, { version: found.version })
}

interface QuestionVector {
  vector: { data: Embedding['data']; model: string | null } | null
  /** Why a provider gave none. */
  reason: string | null
  /** Whether it might have, and may another time. */
  failed: boolean
}

async function questionVector(
  visit: Visit,
  mode: RecallMode,
  query: string | null,
  given: Embedding['data'] | undefined,
): Promise<QuestionVector> {
  if (given !== undefined && mode !== 'text')
    return { vector: { data: given, model: null }, reason: null, failed: false }
  if (mode === 'text' || query === null) return { vector: null, reason: null, failed: false }
  const space = await spaceOf(visit)
  const { vectors, reason } = await embedTexts(visit, space, [query])
  return { vector: vectors?.[0] ?? null, reason, failed: reason !== null && space.provider !== 'static' }
}

/** A bounded step of giving memories the vectors they lack. What is left is in the answer; asked again, it goes on. */
async function reembed(visit: Visit): Promise<Response> {
  const { c, stub } = visit
  readQuery(c, [])
  const text = await readText(c)
  const { limit } = await readOptionalBody(c, reembedBody, text)
  const lacking = await stub.unembedded(limit)
  if (!lacking.ok) return replyFailure(c, lacking)
  let { version } = lacking
  let embedded = 0
  if (lacking.items.length > 0) {
    const { vectors, reason } = await embedTexts(
      visit,
      await spaceOf(visit),
      lacking.items.map((one) => one.text),
    )
    if (vectors === null)
      throw new Problem(fail('unavailable', reason ?? 'there is no provider', { retry_after: 5 }))
    const given = lacking.items.flatMap(({ id, digest }, i) => {
      const embedding = vectors[i]
      return embedding === undefined ? [] : [{ id, digest, embedding }]
    })
    const made = await stub.embed(callerOf(c, text), given)
    if (!made.ok) return replyFailure(c, made)
    version = made.version
    embedded = made.embedded
  }
  const now = await stub.memoryState()
  if (!now.ok) return replyFailure(c, now)
  return replyJson(c, { version, embedded, missing: now.state.missing }, { version })
}

function idOf(c: EdgeContext): string {
  const id = restOfPath(c, 'memories')
  if (!memoryId.safeParse(id).success) throw new Problem(fail('not_found', 'there is no such memory'))
  return id
}
