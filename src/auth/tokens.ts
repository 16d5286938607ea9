// Session tokens: signed, short-lived, verified with no look-up. A token is minted by a principal and never says
// more than the principal that minted it: not in sessions, not in scopes, not in time.

import { errors, jwtVerify, SignJWT } from 'jose'
import { decodeTime } from 'ulid'
import type { Env } from '../env.ts'
import { sessionIdRule } from '../protocol/names.ts'
import { isFleetName, isId, isSessionId, isSessionPattern, newId } from './names.ts'
import type { Principal, Scope } from './principal.ts'
import { isPresentRootMark } from './root.ts'
import { covers, isScope, narrower } from './scopes.ts'
import { signingKey } from './secrets.ts'

/** The longest a token lives, in seconds: 30 days. */
export const MAX_EXPIRES_IN = 2_592_000

export interface MintRequest {
  /** One session by its id … */
  readonly session?: string | undefined
  /** … or many by a pattern with `*`. Exactly one of the two. */
  readonly pattern?: string | undefined
  readonly scopes: readonly string[]
  /** Seconds, 1 to `MAX_EXPIRES_IN`. */
  readonly expires_in: number
}

export type Minted =
  | {
      readonly ok: true
      readonly token: string
      readonly id: string /** Epoch ms. */
      readonly expires_at: number
    }
  | Refused

export interface Refused {
  readonly ok: false
  readonly code: 'forbidden' | 'invalid'
  readonly detail: string
  /** JSON Pointer into the request. */
  readonly pointer?: string
}

/**
 * A token for less than, or as much as, `parent` may do.
 *
 * `invalid`: the request makes no sense for anybody. `forbidden`: it asks for more than the parent has.
 *
 * @example
 * const minted = await mint(env, key, { session: 'a', scopes: ['read'], expires_in: 3600 }, Date.now())
 */
export async function mint(env: Env, parent: Principal, request: MintRequest, now: number): Promise<Minted> {
  const subject = subjectOf(request)
  if (!subject.ok) return subject
  const scopes = scopesOf(request.scopes)
  if (!scopes.ok) return scopes
  const { expires_in } = request
  if (!Number.isSafeInteger(expires_in) || expires_in < 1 || expires_in > MAX_EXPIRES_IN) {
    return refuse(
      'invalid',
      `expires_in is a whole number of seconds from 1 to ${MAX_EXPIRES_IN}`,
      '/expires_in',
    )
  }

  if (!covers(parent.sessions, subject.value)) {
    return refuse('forbidden', 'the token would see sessions that its parent does not see', subject.pointer)
  }
  const wide = scopes.value.findIndex((scope) => !narrower(parent.scopes, [scope]))
  if (wide >= 0) return refuse('forbidden', 'the parent does not hold this scope', `/scopes/${wide}`)
  const issued = Math.floor(now / 1000)
  const expires = issued + expires_in
  if (parent.expiresAt !== null && expires * 1000 > parent.expiresAt) {
    const left = Math.max(0, Math.floor(parent.expiresAt / 1000) - issued)
    return refuse('forbidden', `the token would outlive its parent, which has ${left} s left`, '/expires_in')
  }
  if (parent.chain.length >= MAX_CHAIN) {
    return refuse('forbidden', `tokens are handed on at most ${MAX_CHAIN - 1} times`)
  }

  const id = newId(now)
  const token = await new SignJWT({ fleet: parent.fleet, scopes: scopes.value, chain: parent.chain })
    .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
    .setIssuer(ISSUER)
    .setSubject(subject.value)
    .setIssuedAt(issued)
    .setExpirationTime(expires)
    .setJti(id)
    .sign(signingKey(env, 'session-token'))
  if (token.length > MAX_TOKEN) return refuse('invalid', 'the scopes make the token too long', '/scopes')
  return { ok: true, token, id, expires_at: expires * 1000 }
}

/**
 * What a genuine, unexpired token says; null for anything else. That nothing in its chain was revoked is the
 * fleet's to say.
 */
export async function readToken(env: Env, token: string, now: number): Promise<Principal | null> {
  try {
    const { payload } = await jwtVerify(token, signingKey(env, 'session-token'), {
      // Named, never taken from the token: `none` and its like are the oldest hole in this format.
      algorithms: [ALGORITHM],
      issuer: ISSUER,
      requiredClaims: ['sub', 'exp', 'iat', 'jti'],
      currentDate: new Date(now),
    })
    return principalOf(env, payload)
  } catch (error) {
    if (error instanceof errors.JOSEError) return null
    throw error
  }
}

/**
 * The last moment (epoch ms) at which a token of this id can be alive: a revocation need not be kept longer. An id
 * holds the time it was made; one from the future was not made here, and counts as made now.
 */
export function latestExpiry(id: string, now: number): number {
  return Math.min(decodeTime(id.toUpperCase()), now) + MAX_EXPIRES_IN * 1000 + CLOCK_SLACK
}

const ALGORITHM = 'HS256'
const ISSUER = 'lares'
/** Root or key, and the tokens below it. A chain is checked, and carried, with every request. */
const MAX_CHAIN = 16
const MAX_SCOPES = 64
/** It goes into a header, with every request. */
const MAX_TOKEN = 6_144
const CLOCK_SLACK = 3_600_000

type Part<T> = { readonly ok: true; readonly value: T; readonly pointer: string } | Refused

function subjectOf({ session, pattern }: MintRequest): Part<string> {
  // With neither, the token would be for nobody in particular, and so for everybody.
  if ((session === undefined) === (pattern === undefined)) {
    return refuse(
      'invalid',
      'exactly one of session and pattern is needed',
      session === undefined ? '' : '/pattern',
    )
  }
  if (session !== undefined) {
    if (!isSessionId(session)) return refuse('invalid', `not a session id: ${sessionIdRule}`, '/session')
    return { ok: true, value: session, pointer: '/session' }
  }
  if (pattern === undefined || !isSessionPattern(pattern)) {
    return refuse('invalid', 'a pattern is a session id with any number of *', '/pattern')
  }
  return { ok: true, value: pattern, pointer: '/pattern' }
}

function scopesOf(asked: readonly string[]): Part<Scope[]> {
  if (asked.length < 1 || asked.length > MAX_SCOPES) {
    return refuse('invalid', `a token has 1 to ${MAX_SCOPES} scopes`, '/scopes')
  }
  const value: Scope[] = []
  for (const [index, scope] of asked.entries()) {
    if (!isScope(scope)) return refuse('invalid', 'not a scope', `/scopes/${index}`)
    value.push(scope)
  }
  return { ok: true, value, pointer: '/scopes' }
}

function refuse(code: Refused['code'], detail: string, pointer?: string): Refused {
  return pointer === undefined ? { ok: false, code, detail } : { ok: false, code, detail, pointer }
}

// Signed by us is not enough: a claim that an older or newer version of us wrote otherwise must not be guessed at.
function principalOf(env: Env, claims: Readonly<Record<string, unknown>>): Principal | null {
  const { fleet, sub, jti, exp, scopes, chain } = claims
  if (typeof fleet !== 'string' || !isFleetName(fleet)) return null
  if (typeof sub !== 'string' || !isSessionPattern(sub)) return null
  if (typeof jti !== 'string' || !isId(jti) || typeof exp !== 'number') return null
  if (!Array.isArray(scopes) || scopes.length === 0 || !scopes.every(isScope)) return null
  if (!Array.isArray(chain) || chain.length === 0 || !chain.every((id) => isAncestor(env, id))) return null
  return {
    fleet,
    id: jti,
    actor: `token:${jti}`,
    root: false,
    sessions: sub,
    scopes,
    expiresAt: exp * 1000,
    chain: [jti, ...chain],
  }
}

function isAncestor(env: Env, id: unknown): id is string {
  return typeof id === 'string' && (isId(id) || isPresentRootMark(env, id))
}
