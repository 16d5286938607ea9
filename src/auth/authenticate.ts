// Who is asking. Two questions, apart: is the credential genuine (arithmetic, done once and remembered), and does it
// still stand (the isolate's view of the fleet, asked each time). A warm request answers both with no crypto and no
// await.
//
// A revocation holds at once where it was made, and everywhere within 10 s: see fleet-view.ts.

import type { Env } from '../env.ts'
import { bearerOf } from './credential.ts'
import { askAgain, currentView, forgetViews, readyView, type View, type WaitUntil } from './fleet-view.ts'
import { readKey } from './keys.ts'
import { Memory } from './memory.ts'
import type { Principal } from './principal.ts'
import { isRootKey, isRootMark, rootMark, rootPrincipal } from './root.ts'
import { readToken } from './tokens.ts'

/**
 * The principal of a request; null when it is nobody.
 *
 * @param headerValue what `credentialFrom` found
 * @param fleetHeader `Lares-Fleet`: names the fleet for the root key; for all others the credential does
 * @param now epoch milliseconds
 * @param waitUntil lets the view be read anew behind the answer; without it the request waits for that
 * @throws FleetUnavailable when the fleet can't be asked: 503
 * @example
 * const header = credentialFrom(request)
 * const fleet = request.headers.get('lares-fleet')
 * const who = remembered(header, fleet, now) ?? (await authenticate(env, header, fleet, now, waitUntil))
 */
export async function authenticate(
  env: Env,
  headerValue: string | null,
  fleetHeader: string | null,
  now: number,
  waitUntil?: WaitUntil | undefined,
): Promise<Principal | null> {
  if (headerValue === null) return null
  const genuine = memory.get(headerValue) ?? (await identify(env, headerValue, now))
  if (genuine === null) return null
  if (genuine.kind === 'root') {
    memory.set(headerValue, genuine)
    return rootPrincipal(genuine.mark, fleetHeader)
  }
  if (isExpired(genuine.principal, now)) return forget(headerValue)

  const view = await currentView(env, genuine.principal.fleet, now, waitUntil)
  let standing = standingOf(genuine, view)
  if (standing === 'unheard') {
    // Made a moment ago, elsewhere. Only what we signed gets here, so guessing can't make the object work.
    await askAgain(env, view, now)
    standing = standingOf(genuine, view)
  }
  if (standing !== 'stands') return forget(headerValue)
  if (headerValue.length <= MAX_REMEMBERED) memory.set(headerValue, genuine)
  return genuine.principal
}

/** The hot path: the same answer when it can be given now; null says nothing but "ask `authenticate`". */
export function remembered(
  headerValue: string | null,
  fleetHeader: string | null,
  now: number,
): Principal | null {
  if (headerValue === null) return null
  const genuine = memory.get(headerValue)
  if (genuine === undefined) return null
  if (genuine.kind === 'root') return rootPrincipal(genuine.mark, fleetHeader)
  if (isExpired(genuine.principal, now)) return forget(headerValue)
  const view = readyView(genuine.principal.fleet, now)
  if (view === null) return null
  return standingOf(genuine, view) === 'stands' ? genuine.principal : forget(headerValue)
}

/** Forgets all that this isolate knows. It does so by ending; tests do so between two worlds. */
export function forgetEverything(): void {
  memory.clear()
  forgetViews()
}

/** A credential that was made with our secrets, whether or not it still stands. */
type Genuine =
  | { readonly kind: 'root'; readonly mark: string }
  | { readonly kind: 'key'; readonly principal: Principal; readonly hash: string }
  | { readonly kind: 'token'; readonly principal: Principal }

type Standing = 'stands' | 'void' | 'unheard'

const MAX_ENTRIES = 5_000
/** A longer header is checked anew each time, so that memory is bounded in bytes too. */
const MAX_REMEMBERED = 2_048

const memory = new Memory<Genuine>(MAX_ENTRIES)

async function identify(env: Env, headerValue: string, now: number): Promise<Genuine | null> {
  const text = bearerOf(headerValue)
  if (text === null) return null
  // First, since it may look like anything: the operator chose it.
  if (isRootKey(env, text)) return { kind: 'root', mark: rootMark(env) }
  const key = readKey(env, text)
  if (key !== null) {
    const principal: Principal = {
      fleet: key.fleet,
      id: key.id,
      actor: `key:${key.id}`,
      root: false,
      sessions: '*',
      scopes: ['admin'],
      expiresAt: null,
      chain: [key.id],
    }
    return { kind: 'key', principal, hash: key.hash }
  }
  const principal = await readToken(env, text, now)
  return principal && { kind: 'token', principal }
}

function standingOf(genuine: Exclude<Genuine, { kind: 'root' }>, view: View): Standing {
  const { chain } = genuine.principal
  for (const id of chain) if (view.revoked.has(id)) return 'void'
  // Everything stands on the key at the end of its chain: with the key gone, so is all that it minted, at any depth
  // and with no list of what that was.
  const origin = chain.at(-1)
  if (origin === undefined) return 'void'
  if (genuine.kind === 'token' && isRootMark(origin)) return view.exists ? 'stands' : 'unheard'
  const hash = view.keys.get(origin)
  if (hash === undefined) return 'unheard'
  return genuine.kind === 'key' && genuine.hash !== hash ? 'void' : 'stands'
}

function isExpired(principal: Principal, now: number): boolean {
  return principal.expiresAt !== null && principal.expiresAt <= now
}

function forget(headerValue: string): null {
  memory.delete(headerValue)
  return null
}
