// What the edge's routes for fleets, keys and tokens call. Whether the caller is the root key is the route's to
// check; what a principal may revoke is decided here.

import type { Env } from '../env.ts'
import type { Fleet } from './fleet.ts'
import { revokedHere } from './fleet-view.ts'
import { newKey } from './keys.ts'
import { isFleetName, isId } from './names.ts'
import type { Principal } from './principal.ts'
import { latestExpiry } from './tokens.ts'

export type NotFound = { readonly ok: false; readonly code: 'not_found' }

/** Makes a fleet; one that is there stays as it is (`created: false`). */
export async function createFleet(
  env: Env,
  name: string,
): Promise<{ ok: true; created: boolean } | { ok: false; code: 'invalid'; detail: string }> {
  if (!isFleetName(name)) {
    return { ok: false, code: 'invalid', detail: 'a fleet is named [a-z0-9][a-z0-9-]{0,62}' }
  }
  const { created } = await fleetOf(env, name).create(name)
  return { ok: true, created }
}

/** A new API key of a fleet. `key` can't be shown again: only its hash is kept. */
export async function createKey(
  env: Env,
  fleet: string,
  label: string | null,
): Promise<{ ok: true; key: string; id: string } | NotFound> {
  if (!isFleetName(fleet)) return notFound
  const now = Date.now()
  const { key, id, hash } = newKey(env, fleet, now)
  const { added } = await fleetOf(env, fleet).addKey({ id, hash, label, created_at: now })
  return added ? { ok: true, key, id } : notFound
}

/** Deletes a key, and with it everything it minted. */
export async function deleteKey(env: Env, fleet: string, id: string): Promise<{ ok: true } | NotFound> {
  if (!isFleetName(fleet) || !isId(id)) return notFound
  const { revoked } = await fleetOf(env, fleet).revoke(id, null)
  if (!revoked) return notFound
  revokedHere(fleet, id, Date.now())
  return { ok: true }
}

/**
 * Revokes a token, and with it everything minted under it.
 *
 * The root key and API keys may revoke any token of their fleet by its id; a token may revoke itself and no other.
 * It could not be told its descendants from others: nothing is kept about tokens that were not revoked, so that
 * minting writes nothing. For the same reason an id that was never minted is revoked like any other.
 */
export async function revokeToken(
  env: Env,
  principal: Principal,
  id: string,
): Promise<{ ok: true } | NotFound | { ok: false; code: 'forbidden'; detail: string }> {
  const isToken = principal.expiresAt !== null
  if (isToken && id !== principal.id) {
    return { ok: false, code: 'forbidden', detail: 'a token may revoke itself only' }
  }
  if (!isId(id)) return notFound
  const now = Date.now()
  const { revoked } = await fleetOf(env, principal.fleet).revoke(id, latestExpiry(id, now))
  if (!revoked) return notFound
  revokedHere(principal.fleet, id, now)
  return { ok: true }
}

const notFound: NotFound = { ok: false, code: 'not_found' }

function fleetOf(env: Env, name: string): DurableObjectStub<Fleet> {
  return env.FLEET.get(env.FLEET.idFromName(name))
}
