// What a principal may do and see. Pure: every door (HTTP, SSE, WebSocket, MCP) asks these same questions,
// so that no door answers them in its own way.

import { pathProblem } from '../protocol/names.ts'
import type { Principal, Scope } from './principal.ts'

/** What an operation needs; files have questions of their own. */
export type Need = Exclude<Scope, `files:${string}`>

type Scoped = Pick<Principal, 'scopes'>

/** True for the fixed scopes and for `files:PREFIX` where the prefix is nothing, or a path with or without a last `/`. */
export function isScope(text: unknown): text is Scope {
  if (typeof text !== 'string') return false
  return NEEDS.has(text) || (text.startsWith(FILES) && isPrefix(text.slice(FILES.length)))
}

/** `admin` implies everything and `write` implies `append`; nothing else implies anything. */
export function can(principal: Scoped, need: Need): boolean {
  return implies(principal.scopes, need)
}

/** @param path a file path as the protocol accepts it, so without `.` and `..` segments. */
export function canReadFile(principal: Scoped, path: string): boolean {
  return can(principal, 'read') || prefixesOf(principal.scopes).some((prefix) => isWithin(prefix, path))
}

/** @param path a file path as the protocol accepts it, so without `.` and `..` segments. */
export function canWriteFile(principal: Scoped, path: string): boolean {
  return can(principal, 'write') || prefixesOf(principal.scopes).some((prefix) => isWithin(prefix, path))
}

/**
 * Which files a listing may show: null for all of them, else the folders (without a trailing `/`), each to be
 * matched as `canReadFile` does: the path itself or anything below it. An empty list shows nothing.
 */
export function fileListPrefixes(principal: Scoped): string[] | null {
  if (can(principal, 'read')) return null
  const prefixes = prefixesOf(principal.scopes)
  return prefixes.includes('') ? null : prefixes
}

/** Whether a session exists at all for this principal: what it does not see is 404. */
export function sees(principal: Pick<Principal, 'sessions'>, session: string): boolean {
  return matches(principal.sessions, session)
}

/**
 * True when every id that `child` matches is matched by `parent`. The child's own `*` is compared as a character
 * that no session id has, so only a `*` of the parent can take it in; and what it takes in, it takes in however the
 * child's `*` is filled.
 */
export function covers(parent: string, child: string): boolean {
  return matches(parent, child)
}

/** True when each of the child's scopes is implied by what the parent holds. */
export function narrower(parent: readonly Scope[], child: readonly Scope[]): boolean {
  return child.every((scope) => {
    if (!isFiles(scope)) return implies(parent, scope)
    if (implies(parent, 'read') && implies(parent, 'write')) return true
    return prefixesOf(parent).some((prefix) => isWithin(prefix, prefixOf(scope)))
  })
}

const FILES = 'files:'
const NEEDS: ReadonlySet<string> = new Set<Need>([
  'read',
  'append',
  'write',
  'snapshot',
  'fork',
  'lease',
  'admin',
])

function implies(held: readonly Scope[], need: Need): boolean {
  return held.includes(need) || held.includes('admin') || (need === 'append' && held.includes('write'))
}

function isFiles(scope: Scope): scope is `files:${string}` {
  return scope.startsWith(FILES)
}

function prefixOf(scope: `files:${string}`): string {
  const prefix = scope.slice(FILES.length)
  return prefix.endsWith('/') ? prefix.slice(0, -1) : prefix
}

function prefixesOf(scopes: readonly Scope[]): string[] {
  return scopes.filter(isFiles).map(prefixOf)
}

// On a segment boundary: a plain `startsWith` would let `docs` open `docs2`.
function isWithin(prefix: string, path: string): boolean {
  return prefix === '' || path === prefix || path.startsWith(`${prefix}/`)
}

function isPrefix(prefix: string): boolean {
  return prefix === '' || pathProblem(prefix.endsWith('/') ? prefix.slice(0, -1) : prefix) === null
}

/**
 * Each piece between two `*` is taken at its first place after the one before it and never moved again: an earlier
 * place leaves more room for what follows, so there is nothing to try twice.
 */
function matches(pattern: string, text: string): boolean {
  const first = pattern.indexOf('*')
  if (first < 0) return pattern === text
  const last = pattern.lastIndexOf('*')
  const end = text.length - (pattern.length - last - 1)
  if (end < first || !text.startsWith(pattern.slice(0, first)) || !text.endsWith(pattern.slice(last + 1))) {
    return false
  }
  let from = first
  for (const piece of pattern.slice(first, last).split('*')) {
    const at = text.indexOf(piece, from)
    if (at < 0 || at + piece.length > end) return false
    from = at + piece.length
  }
  return true
}
