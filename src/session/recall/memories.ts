// One memory: how its entry reads, and whether it still counts as being there.

import type { MemoryShown, MemoryValue } from '../../protocol/memory.ts'
import type { World } from '../world.ts'

/** Milliseconds at which it ceases to be; null for one that does not. What is pinned stays. */
export function expiryOf({ expires_at, pinned }: Pick<MemoryValue, 'expires_at' | 'pinned'>): number | null {
  return expires_at === undefined || pinned ? null : Date.parse(expires_at)
}

export function hasExpired(value: Pick<MemoryValue, 'expires_at' | 'pinned'>, now: number): boolean {
  const expiry = expiryOf(value)
  return expiry !== null && expiry <= now
}

/** The same of a stored value, as SQL; `now` is an RFC 3339 text in a parameter. */
export function notExpired(value: string, now: string): string {
  return `(${value} ->> '$.pinned' IS NOT NULL OR ${value} ->> '$.expires_at' IS NULL OR ${value} ->> '$.expires_at' > ${now})`
}

/**
 * The time by which a read judges what has expired: the present at the head; at a fixed point of history that version's own
 * time, because what is said of a version never changes.
 */
export function timeOf(world: World, version: number, fixed: boolean): number {
  if (!fixed) return Date.now()
  const row = world.sql.exec<{ at: number }>('SELECT at FROM commits WHERE version = ?', version).toArray()[0]
  return row?.at ?? world.identity.created_at
}

/** A memory as it is answered; everything of it but the vector's numbers. */
export function shown(id: string, since: number, value: MemoryValue): MemoryShown {
  const { text, tags, meta, pinned, created_at, expires_at, vector } = value
  return {
    id,
    text,
    tags,
    meta,
    pinned: pinned ?? false,
    created_at,
    expires_at: expires_at ?? null,
    model: vector?.model ?? null,
    since,
  }
}
