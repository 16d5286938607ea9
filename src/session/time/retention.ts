// Retention: what entries were before the versions a session keeps is taken away, a bounded part at a time. The journal and the log
// stay, so that the chain still verifies; so does whatever a snapshot's version needs.

import { versionAtTime } from '../time.ts'
import type { World } from '../world.ts'
import { unsettledChildren } from './fork.ts'

const rowsPerStep = 5000

interface Progress {
  cutoff: number
  after: [kind: string, key: string, since: number]
}

/** The oldest version that retention keeps; 0 when it keeps all. */
export function retentionCutoff(world: World, now: number): number {
  const { retention, floor } = world.identity
  const { versions, days } = retention
  const bounds: number[] = []
  if (versions !== null) bounds.push(world.head.version - versions + 1)
  if (days !== null) bounds.push(versionAtTime(world, now - days * 86_400_000))
  // A version is kept when either says so.
  return bounds.length === 0 ? 0 : Math.max(floor, Math.min(...bounds), 0)
}

export function prunes({ identity: { retention } }: World): boolean {
  return retention.versions !== null || retention.days !== null
}

/** One bounded step; answers whether there is more to do. A fork that still takes rows over makes it wait. */
export function pruneStep(world: World, now: number): boolean {
  if (unsettledChildren(world).length > 0) return false
  const progress = current(world, now)
  if (progress === null) return false
  const { sql } = world
  const rows = sql
    .exec<{ kind: string; key: string; since: number; until: number }>(
      'SELECT kind, key, since, until FROM past WHERE (kind, key, since) > (?, ?, ?) ORDER BY kind, key, since LIMIT ?',
      ...progress.after,
      rowsPerStep,
    )
    .toArray()
  const kept = keptVersions(world)
  world.storage.transactionSync(() => {
    for (const { kind, key, since, until } of rows) {
      if (until > progress.cutoff || kept.some((version) => since <= version && version < until)) continue
      sql.exec('DELETE FROM past WHERE kind = ? AND key = ? AND since = ?', kind, key, since)
    }
    const last = rows.at(-1)
    if (rows.length < rowsPerStep || last === undefined) world.dropMeta('pruning')
    else world.setMeta('pruning', JSON.stringify({ ...progress, after: [last.kind, last.key, last.since] }))
  })
  return rows.length === rowsPerStep
}

/** A run that is under way, or a new one if the cutoff has moved. From the moment it begins, what lies before the cutoff is gone. */
function current(world: World, now: number): Progress | null {
  const running = world.meta('pruning')
  if (running !== null) return JSON.parse(running)
  const cutoff = retentionCutoff(world, now)
  // Some versions at a time: each run looks at all there is of the past.
  const least = Math.max(1, Math.floor((world.identity.retention.versions ?? 0) / 10))
  if (cutoff - world.pruned < (world.pruned === 0 ? 1 : least)) return null
  world.pruned = cutoff
  const progress: Progress = { cutoff, after: ['', '', -1] }
  world.setMeta('pruning', JSON.stringify(progress))
  return progress
}

function keptVersions(world: World): number[] {
  const snapshots = world.sql.exec<{ version: number }>('SELECT DISTINCT version FROM snapshots').toArray()
  return [...snapshots.map(({ version }) => version), ...world.held]
}
