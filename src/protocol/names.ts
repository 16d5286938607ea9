// How things are named: which session ids, keys and paths exist at all. Pure checks, shared by edge, object and SDK.

import { utf8Length } from './canonical.ts'
import { limits } from './limits.ts'

export const sessionIdPattern = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/
export const sessionIdRule = '1 to 128 of A–Z a–z 0–9 . _ : @ -, a letter or digit first'
export const fleetPattern = /^[a-z0-9][a-z0-9-]{0,62}$/
export const fleetRule = '1 to 63 of a–z 0–9 -, a letter or digit first'
/** Tables, views and memories: names that can stand in SQL and in a URL alike. */
export const tableNamePattern = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/
export const sha256Pattern = /^[0-9a-f]{64}$/

/** Why a state key cannot be used, or null. The empty key is a key. */
export function keyProblem(key: string): string | null {
  if (!key.isWellFormed()) return 'a key must be well-formed Unicode'
  // NUL ends a text inside SQLite's functions, so such a key would not be found again.
  if (key.includes('\0')) return 'a key must not hold NUL'
  if (utf8Length(key) > limits.keyBytes) return `a key must not be longer than ${limits.keyBytes} bytes`
  return null
}

/**
 * Why a file path cannot be used, or null. A path is relative, `/`-separated, and its segments are neither empty nor
 * `.` nor `..`, also when a backslash separates them, so that it stays inside whatever folder it is written to.
 */
export function pathProblem(path: string): string | null {
  if (path === '') return 'a path must not be empty'
  if (!path.isWellFormed()) return 'a path must be well-formed Unicode'
  if (path.includes('\0')) return 'a path must not hold NUL'
  if (utf8Length(path) > limits.pathBytes) return `a path must not be longer than ${limits.pathBytes} bytes`
  if (path.startsWith('/') || path.endsWith('/')) return 'a path must not begin or end with a slash'
  if (path.split('/').includes('')) return 'a path must not hold an empty segment'
  if (path.split(/[/\\]/).some((segment) => segment === '.' || segment === '..')) {
    return 'a path must not hold . or .. segments'
  }
  return null
}
