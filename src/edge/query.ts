// Query parameters: each route names the ones it takes, and any other is refused, so that a misspelt filter never
// answers with everything.

import { fail } from '../protocol/errors.ts'
import { decodeCursor, parseLimit, parseWhole } from '../protocol/paging.ts'
import type { At } from '../session/rpc.ts'
import type { EdgeContext } from './context.ts'
import { Problem } from './reply.ts'

export type Query = ReadonlyMap<string, string>

/** The parameters, each at most once and each of a name that the route takes. */
export function readQuery(c: EdgeContext, names: readonly string[], prefix?: string): Query {
  const query = new Map<string, string>()
  const start = c.req.url.indexOf('?')
  if (start === -1) return query
  // The URL parser would put U+FFFD for what is no UTF-8, and the filter would be another.
  try {
    decodeURIComponent(c.req.url.slice(start))
  } catch {
    throw invalid('the query is not percent-encoded UTF-8', 'query')
  }
  for (const [name, value] of new URL(c.req.url).searchParams) {
    // Read where credentials are read, by the tail alone.
    if (name === 'access_token') continue
    if (!names.includes(name) && !(prefix !== undefined && name.startsWith(prefix))) {
      throw invalid(`there is no parameter ${JSON.stringify(name)} here`, name)
    }
    if (query.has(name)) throw invalid(`${name} is given twice`, name)
    query.set(name, value)
  }
  return query
}

export function invalid(detail: string, name: string): Problem {
  return new Problem(fail('invalid', detail, { pointer: name }))
}

export function readLimit(query: Query): number {
  const limit = parseLimit(query.get('limit'))
  if (limit === null) throw invalid('limit is a whole number from 1', 'limit')
  return limit
}

/** Where the page before ended; null at the beginning. */
export function readCursor(query: Query, list: string, type: 'string'): string | null
export function readCursor(query: Query, list: string, type: 'number'): number | null
export function readCursor(query: Query, list: string, type: 'string' | 'number'): string | number | null {
  const raw = query.get('cursor')
  if (raw === undefined) return null
  const last = decodeCursor(list, raw)
  if (typeof last !== type) throw invalid('this is no cursor of this list', 'cursor')
  return last
}

/** `prefix` and `cursor` of a list by key. A cursor of another prefix would quietly leave keys out. */
export function readPlace(query: Query, list: string): { prefix: string; cursor: string | null } {
  const prefix = query.get('prefix') ?? ''
  const cursor = readCursor(query, list, 'string')
  if (typeof cursor !== 'string') return { prefix, cursor: null }
  if (!cursor.startsWith(prefix)) throw invalid('this is a cursor of another prefix', 'cursor')
  return { prefix, cursor }
}

export function readWhole(query: Query, name: string): number | null {
  const raw = query.get(name)
  if (raw === undefined) return null
  const n = parseWhole(raw)
  if (n === null) throw invalid(`${name} is a whole number`, name)
  return n
}

export function readChoice<T extends string>(
  query: Query,
  name: string,
  choices: readonly T[],
  otherwise: T,
): T {
  const raw = query.get(name)
  if (raw === undefined) return otherwise
  const choice = choices.find((one) => one === raw)
  if (choice === undefined) throw invalid(`${name} is one of ${choices.join(', ')}`, name)
  return choice
}

/** `at`: a version, an RFC 3339 time, or `snap:NAME`. */
export function readAt(query: Query): At {
  return parsePoint(query, 'at')
}

export function parsePoint(query: Query, name: string): At {
  const raw = query.get(name)
  return raw === undefined ? null : pointFrom(raw, name)
}

/** The same in a body, where a version may be a number. */
export function pointOf(value: string | number | undefined, pointer: string): At {
  if (value === undefined) return null
  return typeof value === 'number' ? { version: value } : pointFrom(value, pointer)
}

function pointFrom(raw: string, name: string): NonNullable<At> {
  const version = parseWhole(raw)
  if (version !== null) return { version }
  // More digits than any version has: one the session never had.
  if (/^\d+$/.test(raw)) return { version: Number.MAX_SAFE_INTEGER }
  if (/^snap:.{1,255}$/u.test(raw)) return { snapshot: raw.slice(5) }
  const time = readTime(raw)
  if (time !== null) return { time }
  throw invalid(`${name.replace('/', '')} is a version, an RFC 3339 time, or snap:NAME`, name)
}

/** Epoch milliseconds of an RFC 3339 instant, or null. */
export function readTime(raw: string): number | null {
  if (!/^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/.test(raw)) return null
  const time = Date.parse(raw.toUpperCase())
  return Number.isNaN(time) ? null : time
}
