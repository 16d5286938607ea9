// The operator's root key: the one credential that is not made here but chosen, and the only one that may name the
// fleet it acts in.

import { Buffer } from 'node:buffer'
import type { Env } from '../env.ts'
import { DEFAULT_FLEET, isFleetName } from './names.ts'
import type { Principal } from './principal.ts'
import { sameSecret, signingKey, tagOf } from './secrets.ts'

/** Whether this is the root key. Without one in the environment, nothing is. */
export function isRootKey(env: Env, text: string): boolean {
  return Boolean(env.LARES_ROOT_KEY) && sameSecret(text, env.LARES_ROOT_KEY)
}

/**
 * The root key's principal in the fleet it names (`default` when it names none); null when that is not a name.
 * @param mark what `rootMark` says, at the end of the chain of every token it mints
 */
export function rootPrincipal(mark: string, fleetHeader: string | null): Principal | null {
  const fleet = fleetHeader ?? DEFAULT_FLEET
  if (!isFleetName(fleet)) return null
  return {
    fleet,
    id: 'root',
    actor: 'root',
    root: true,
    sessions: '*',
    scopes: ['admin'],
    expiresAt: null,
    chain: [mark],
  }
}

/**
 * `root:` and a mark of the present root key. Tokens carry it in their chain, so that replacing the key voids what
 * it minted. Keyed: a bare digest of it, in a token that anyone may read, would let a short key be guessed.
 */
export function rootMark(env: Env): string {
  const tag = tagOf(signingKey(env, 'root-key'), env.LARES_ROOT_KEY)
  return `${MARK}${Buffer.from(tag.subarray(0, 12)).toString('base64url')}`
}

/** Whether an id of a chain stands for a root key, the present one or an earlier. */
export function isRootMark(id: string): boolean {
  return id.startsWith(MARK)
}

/** Whether an id of a chain stands for the root key of today. */
export function isPresentRootMark(env: Env, id: string): boolean {
  return Boolean(env.LARES_ROOT_KEY) && id === rootMark(env)
}

const MARK = 'root:'
