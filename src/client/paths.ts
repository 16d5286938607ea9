// How names become URLs: every segment percent-encoded once, `/` standing as itself.

import { invalid } from './errors.ts'

/** A point of a world's history: a version, a time (RFC 3339 text or a Date), or `snap:NAME`. */
export type At = number | string | Date

export type Query = Record<string, string | number | boolean | readonly string[] | Date | undefined>

/**
 * Encodes a key or path for use in a URL's path.
 *
 * Segments `.` and `..` are refused: every URL parser takes them away, encoded or not, and the request would name
 * something else. State keys that hold them can be written and read in commits, lists and queries.
 *
 * @throws {LaresError} `invalid`
 * @example encodePath('notes/50% done?.md') // 'notes/50%25%20done%3F.md'
 */
export function encodePath(path: string): string {
  if (!path.isWellFormed()) throw invalid('a key or path must be well-formed Unicode')
  return path
    .split('/')
    .map((segment) => {
      if (segment === '.' || segment === '..') throw invalid(`the segment ${segment} cannot stand in a URL`)
      return encodeURIComponent(segment)
    })
    .join('/')
}

/** `?a=1&b=x`, without the undefined ones, or nothing. */
export function encodeQuery(query: Query): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    if (Array.isArray(value)) for (const one of value) params.append(name, one)
    else params.append(name, value instanceof Date ? value.toISOString() : String(value))
  }
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}

/** A point of history as a body says it: a version stays a number. */
export function pointOf(at: At): number | string {
  return at instanceof Date ? at.toISOString() : at
}
