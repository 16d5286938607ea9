// Points in time: how they are written, and which version a read at one of them means.

import { fail, type Outcome } from '../protocol/errors.ts'
import type { At } from './rpc.ts'
import type { World } from './world.ts'

export function rfc3339(ms: number): string {
  return new Date(ms).toISOString()
}

/**
 * The version that a read speaks of. A time means the last commit not after it; versions and times the session never had,
 * the future among them, are `no_such_version`; versions whose past retention has pruned are `gone`.
 */
export function resolveAt(world: World, at: At): Outcome<{ version: number }> {
  if (at === null) return { ok: true, version: world.head.version }
  const found = findVersion(world, at)
  if (!found.ok) return found
  return isPruned(world, found.version)
    ? fail('gone', `version ${found.version} is no longer kept`, { head: world.head.version })
    : found
}

function findVersion(world: World, at: NonNullable<At>): Outcome<{ version: number }> {
  const { head, identity, sql } = world
  if ('version' in at) {
    return at.version <= head.version && at.version >= identity.floor
      ? { ok: true, version: at.version }
      : fail('no_such_version', `the head is version ${head.version}`, { head: head.version })
  }
  if ('snapshot' in at) {
    const row = sql
      .exec<{ version: number }>('SELECT version FROM snapshots WHERE name = ?', at.snapshot)
      .toArray()[0]
    // A restored session knows of snapshots of a past that it lost.
    return row && row.version >= identity.floor
      ? { ok: true, version: row.version }
      : fail('no_such_version', 'no such snapshot', { head: head.version })
  }
  const first = sql.exec<{ at: number }>('SELECT at FROM commits ORDER BY version LIMIT 1').toArray()[0]
  const begun = Math.min(identity.created_at, first?.at ?? identity.created_at)
  // A commit's own time is never the future, also when the clock has been set back since.
  const now = Math.max(Date.now(), head.at)
  if (at.time > now || at.time < begun || (identity.floor > 0 && at.time < (first?.at ?? 0))) {
    return fail('no_such_version', 'the session had no version at that time', { head: head.version })
  }
  return {
    ok: true,
    version: at.time >= head.at ? head.version : versionAt(sql, at.time, identity.floor, head.version),
  }
}

/** Retention keeps the newest versions and those of snapshots. */
function isPruned(world: World, version: number): boolean {
  if (version >= world.pruned) return false
  return world.sql.exec('SELECT 1 FROM snapshots WHERE version = ? LIMIT 1', version).toArray().length === 0
}

/** The last version not after a time, whenever that was; the oldest there is for a time before it. */
export function versionAtTime({ sql, identity, head }: World, time: number): number {
  return versionAt(sql, time, identity.floor, head.version)
}

/** Binary search: times never decrease with versions, so no index on them is needed. */
function versionAt(sql: SqlStorage, time: number, floor: number, head: number): number {
  let low = floor
  let high = head
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const row = sql.exec<{ at: number }>('SELECT at FROM commits WHERE version = ?', middle).toArray()[0]
    if (row !== undefined && row.at <= time) low = middle
    else high = middle - 1
  }
  return low
}
