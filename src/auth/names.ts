// The shapes of the names that credentials carry. Kept in one place because a credential is parsed by them:
// a fleet has no `_` and an id has a fixed alphabet, so an API key splits in one way only.

import { ulid } from 'ulid'
import { fleetPattern, sessionIdPattern } from '../protocol/names.ts'

/** The fleet that is there without being created. */
export const DEFAULT_FLEET = 'default'

/** A fleet's name of the HTTP contract. */
export function isFleetName(name: string): boolean {
  return fleetPattern.test(name)
}

/** A session id of the HTTP contract. */
export function isSessionId(id: string): boolean {
  return sessionIdPattern.test(id)
}

/** A session id in which any run of characters may be `*`. */
export function isSessionPattern(pattern: string): boolean {
  return PATTERN.test(pattern)
}

/** The id of a key or a token: a ULID in lower case. */
export function isId(id: string): boolean {
  return ID.test(id)
}

/** A new id for a key or token made at `now` (epoch milliseconds). */
export function newId(now: number): string {
  return ulid(now).toLowerCase()
}

const PATTERN = /^[A-Za-z0-9*][A-Za-z0-9._:@*-]{0,127}$/
const ID = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/
