// What the tests of keys and tokens share. Every test has fleets of its own, so none can see another's.

/// <reference types="@cloudflare/vitest-plugin/types" />

import { env as bound } from 'cloudflare:workers'
import { createFleet, createKey } from '../../src/auth/admin.ts'
import { authenticate, forgetEverything, remembered } from '../../src/auth/authenticate.ts'
import type { Principal } from '../../src/auth/principal.ts'
import { type MintRequest, mint } from '../../src/auth/tokens.ts'
import type { Env } from '../../src/env.ts'

// The test configuration binds what the Worker's does; the platform's type of `env` is open on purpose.
export const env = bound as unknown as Env

/** As if the code ran in another isolate: nothing is remembered there. */
export const elsewhere = forgetEverything

let count = 0

/** The name of a fleet that is not there yet. */
export function freshName(): string {
  count += 1
  return `f${count}-${crypto.randomUUID().slice(0, 8)}`
}

/** A new fleet with one key. */
export async function fleetWithKey(): Promise<{ fleet: string; key: string; id: string }> {
  const fleet = freshName()
  await createFleet(env, fleet)
  return { fleet, ...(await keyOf(fleet)) }
}

export async function keyOf(fleet: string): Promise<{ key: string; id: string }> {
  const made = await createKey(env, fleet, 'test')
  if (!made.ok) throw new Error('no such fleet')
  return made
}

/** Who a credential is at `now`, by the way every request takes. */
export async function who(
  credential: string,
  now = Date.now(),
  fleetHeader: string | null = null,
  world: Env = env,
): Promise<Principal | null> {
  const header = `Bearer ${credential}`
  return remembered(header, fleetHeader, now) ?? (await authenticate(world, header, fleetHeader, now))
}

/** As `who`, for a credential that must be somebody. */
export async function somebody(credential: string, now = Date.now()): Promise<Principal> {
  const principal = await who(credential, now)
  if (!principal) throw new Error('nobody')
  return principal
}

/** A minted token; all of the parent's sessions for an hour, unless told otherwise. */
export async function tokenOf(
  parent: Principal,
  request: Partial<MintRequest> = {},
  now = Date.now(),
): Promise<{ token: string; id: string; expires_at: number }> {
  const subject = request.session === undefined ? { pattern: parent.sessions } : {}
  const minted = await mint(env, parent, { ...subject, scopes: ['read'], expires_in: 600, ...request }, now)
  if (!minted.ok) throw new Error(minted.detail)
  return minted
}

/** The environment with every look-up in a fleet's object counted, and failing when `down`. */
export function watched(): { world: Env; lookups: () => number; down: (yes: boolean) => void } {
  let lookups = 0
  let down = false
  const FLEET = new Proxy(env.FLEET, {
    get(target, name) {
      if (name === 'get') {
        return (id: DurableObjectId) => {
          lookups += 1
          if (down) throw new Error('the object is down')
          return target.get(id)
        }
      }
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return {
    world: { ...env, FLEET },
    lookups: () => lookups,
    down: (yes) => {
      down = yes
    },
  }
}
