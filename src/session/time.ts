// Points in time: how they are written, and which version a read at one of them means.

import { fail, type Outcome } from '../protocol/errors.ts'
import type { At } from './rpc.ts'
import type { World } from './world.ts'

export function rfc3339(ms: number): string {
  return new Date(ms).toISOString()
}

/**
 * The version that a read speaks of. A time means the last commit not after it; versions and times the session never had,
 * the future among them, are `no_such_version`.
 */
export function resolveAt(world: World, at: At): Outcome<{ version: number }> {
  const { head, identity } = world
  if (at === null) return { ok: true, version: head.version }
  if ('version' in at) {
    return at.version <= head.version
      ? { ok: true, version: at.version }
      : fail('no_such_version', `the head is version ${head.version}`, { head: head.version })
  }
  if ('snapshot' in at) return fail('no_such_version', 'no such snapshot', { head: head.version })
  if (at.time > Date.now() || at.time < identity.created_at) {
    return fail('no_such_version', 'the session had no version at that time', { head: head.version })
  }
  return {
    ok: true,
    version: at.time >= head.at ? head.version : versionAt(world.sql, at.time, head.version),
  }
}

/** Binary search: times never decrease with versions, so no index on them is needed. */
function versionAt(sql: SqlStorage, time: number, head: number): number {
  let low = 0
  let high = head
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const row = sql.exec<{ at: number }>('SELECT at FROM commits WHERE version = ?', middle).toArray()[0]
    if (row !== undefined && row.at <= time) low = middle
    else high = middle - 1
  }
  return low
}
