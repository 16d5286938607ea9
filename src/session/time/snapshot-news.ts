// Telling the catalog of snapshots: every object of one first, a part at a time, and its own row last.

import { projectSnapshot, projectSnapshotObjects, removeSnapshot } from '../../catalog/index.ts'
import { hex } from '../../crypto.ts'
import type { Env } from '../../env.ts'
import { genesis } from '../../protocol/digests.ts'
import type { World } from '../world.ts'
import { snapshotObjects } from './objects.ts'
import type { SnapshotRow } from './snapshot.ts'

const objectsPerStep = 1000

export function hasSnapshotNews({ sql }: World): boolean {
  return sql.exec('SELECT 1 FROM snapshot_news LIMIT 1').toArray().length > 0
}

/** Tells everything there is to tell. Never throws: a catalog that is down only makes it late. */
export async function tellOfSnapshots(world: World, env: Env): Promise<'done' | 'failed'> {
  try {
    const news = world.sql
      .exec<{ name: string; made: number }>('SELECT name, made FROM snapshot_news')
      .toArray()
    for (const { name, made } of news) {
      const { fleet, session } = world.identity
      if (made === 1) await tellOfOne(world, env, name)
      else await removeSnapshot(env.CATALOG, { fleet, session, name })
      if (world.state !== 'live') return 'done'
      // Unless it was dropped meanwhile, or made again.
      world.sql.exec('DELETE FROM snapshot_news WHERE name = ? AND made = ?', name, made)
    }
    return 'done'
  } catch (error) {
    console.warn(
      'the catalog could not be told of a snapshot',
      error instanceof Error ? error.message : 'unknown',
    )
    return 'failed'
  }
}

async function tellOfOne(world: World, env: Env, name: string): Promise<void> {
  const { fleet, session, family } = world.identity
  for (let after: string | null = null; ; ) {
    const page = await snapshotObjects(world, env, name, after, objectsPerStep)
    // Dropped in the meantime: its removal is told next.
    if (!page.ok) return
    const rows = page.items.map(({ sha256, kind, r2_key, offset = 0, size }) => ({
      sha256,
      kind,
      r2_key,
      start: offset,
      size,
    }))
    await projectSnapshotObjects(env.CATALOG, { fleet, session, name }, rows)
    after = page.next
    if (after === null) break
  }
  const row = world.sql.exec<SnapshotRow>('SELECT * FROM snapshots WHERE name = ?', name).toArray()[0]
  if (!row) return
  const { version, root, entries, events, bytes, created_at, message } = row
  const digest = digestAt(world, version)
  await projectSnapshot(env.CATALOG, {
    fleet,
    session,
    row: { name, version, digest, root, family, entries, events, bytes, created_at, message },
  })
}

function digestAt({ sql }: World, version: number): string {
  const row = sql
    .exec<{ digest: ArrayBuffer }>('SELECT digest FROM commits WHERE version = ?', version)
    .toArray()[0]
  return row ? hex(row.digest) : genesis
}
