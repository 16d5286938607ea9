// Leases and fencing. A lease's token is new at every acquisition; its epoch only grows. A write that shows a token which
// is not the living one is refused, and so is a write that shows none while a lease lives.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Failure, fail, type Outcome } from '../protocol/errors.ts'
import type { LeaseGrant } from './rpc.ts'
import { rfc3339 } from './time.ts'
import type { World } from './world.ts'

export interface Lease {
  /** Counts acquisitions; kept when a lease ends, so that no epoch comes twice. */
  epoch: number
  holder: string | null
  /** SHA-256 of the token, hex. */
  token: string | null
  /** Seconds. */
  ttl: number
  /** Epoch milliseconds, as granted or renewed by request; writes extend it without a row of their own. */
  expires_at: number
}

export const noLease: Lease = { epoch: 0, holder: null, token: null, ttl: 0, expires_at: 0 }

/** When the lease ends: what was granted, or a whole term after its holder's last write. */
export function leaseEnd(world: World): number {
  const { lease, head } = world
  return head.epoch === lease.epoch
    ? Math.max(lease.expires_at, head.heldAt + lease.ttl * 1000)
    : lease.expires_at
}

export function leaseLives(world: World, now = Date.now()): boolean {
  return world.lease.token !== null && now < leaseEnd(world)
}

/**
 * The first step of every write. Answers whether the writer is the holder, or refuses.
 *
 * @param outsider true for a write that may pass without the lease: messages in the inbox lane.
 */
export function admit(
  world: World,
  token: string | undefined,
  outsider = false,
): { held: boolean } | Failure {
  const alive = leaseLives(world)
  if (token !== undefined) {
    return alive && isToken(world.lease, token)
      ? { held: true }
      : fenced(world, 'the lease token is missing or stale')
  }
  if (alive && !outsider) return fenced(world, 'the session is leased, and no lease token was shown')
  return { held: false }
}

export function acquire(world: World, holder: string, ttl: number, steal: boolean): Outcome<LeaseGrant> {
  const { lease } = world
  if (leaseLives(world) && !steal) {
    return fail('leased', `held by ${JSON.stringify(lease.holder)} until ${rfc3339(leaseEnd(world))}`, {
      epoch: lease.epoch,
      retry_after: Math.max(1, Math.ceil((leaseEnd(world) - Date.now()) / 1000)),
    })
  }
  const epoch = lease.epoch + 1
  const token = `${epoch}.${randomBytes(24).toString('base64url')}`
  const expires_at = Date.now() + ttl * 1000
  world.saveLease({ epoch, holder, token: digestOf(token), ttl, expires_at })
  return { ok: true, epoch, token, expires_at: rfc3339(expires_at) }
}

export function renew(world: World, token: string, ttl: number | undefined): Outcome<LeaseGrant> {
  const admitted = admit(world, token)
  if ('code' in admitted) return admitted
  const { lease } = world
  const term = ttl ?? lease.ttl
  // Exactly what was asked for, so that a holder can also shorten its lease; its writes begin a new term.
  const expires_at = Date.now() + term * 1000
  world.saveLease({ ...lease, ttl: term, expires_at })
  return { ok: true, epoch: lease.epoch, token, expires_at: rfc3339(expires_at) }
}

/** A new term for the holder of a write that is no commit. */
export function prolong(world: World): void {
  const { lease } = world
  world.saveLease({ ...lease, expires_at: Math.max(leaseEnd(world), Date.now() + lease.ttl * 1000) })
}

export function release(world: World, token: string): Outcome<object> {
  const admitted = admit(world, token)
  if ('code' in admitted) return admitted
  world.saveLease({ ...world.lease, holder: null, token: null, expires_at: 0 })
  return { ok: true }
}

function fenced(world: World, detail: string): Failure {
  return fail('fenced', detail, { epoch: world.lease.epoch, head: world.head.version })
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

function isToken(lease: Lease, token: string): boolean {
  return lease.token !== null && timingSafeEqual(Buffer.from(lease.token), Buffer.from(digestOf(token)))
}
