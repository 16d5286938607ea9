// A child taking over its parent's rows. The child is there at once; this brings what its reads need, in bounded steps, each of
// which is one transaction that also moves the cursor: killed anywhere, it goes on where it was.

import type { Env } from '../../env.ts'
import type { Outcome } from '../../protocol/errors.ts'
import type { EntryKind } from '../../protocol/refs.ts'
import { references } from '../blobs.ts'
import { rebuildDerived } from '../derived.ts'
import type { EntryRead } from '../rpc.ts'
import type { Origin, World } from '../world.ts'
import { type BlobRows, holdForeign, takeBlobRows } from './blob-rows.ts'
import {
  type ForkSeed,
  type Row,
  type RowsPage,
  type RowsQuery,
  type TakenTable,
  takenTables,
} from './fork.ts'

/** What a child asks of its parent. */
export interface Parent {
  forkRows(query: RowsQuery): Promise<RowsPage>
  forkBlobs(digests: string[]): Promise<BlobRows>
  forkEntry(kind: EntryKind, key: string, version: number): Promise<Outcome<EntryRead>>
  forkSettled(child: string): Promise<void>
}

interface Progress {
  origin: Origin
  table: TakenTable | 'blobs' | 'done'
  after: SqlStorageValue[] | null
}

const blobsPerStep = 1000

/** Founds the child's tables with what the parent's seed holds. */
export function foundFork(
  world: World,
  seed: ForkSeed,
  {
    fleet,
    session,
    title,
    labels,
  }: {
    fleet: string
    session: string
    title?: string | undefined
    labels?: Record<string, string> | undefined
  },
): void {
  const now = Date.now()
  const { origin, ancestry, family, floor, pruned, salt_key } = seed
  world.foundWith(
    {
      fleet,
      session,
      title: title ?? seed.title,
      labels: labels ?? seed.labels,
      created_at: now,
      updated_at: now,
      expires_at: null,
      retention: { versions: null, days: null },
      origin,
      ancestry,
      family,
      floor,
      salt_key,
    },
    () => {
      if (seed.commit !== null) insertRow(world.sql, 'commits', seed.commit)
      if (pruned > 0) world.setMeta('pruned', String(pruned))
      save(world, { origin, table: takenTables[0], after: null })
    },
  )
}

/** Where the child stands; null for a session that has all its rows. */
export function hydrationOf(world: World): Progress | null {
  const text = world.meta('hydration')
  return text === null ? null : JSON.parse(text)
}

/** One step; answers whether anything is left to do. */
export async function hydrateStep(world: World, env: Env, parent: Parent): Promise<boolean> {
  const progress = hydrationOf(world)
  if (progress === null) return false
  const { origin, table, after } = progress
  if (table === 'done') {
    await parent.forkSettled(world.identity.session)
    if (world.state !== 'live') return false
    rebuildDerived(world)
    world.dropMeta('hydration')
    return false
  }
  if (table === 'blobs') return takeBlobs(world, env, parent, progress)
  const page = await parent.forkRows({ version: origin.version, table, after })
  advance(world, progress, () => {
    for (const row of page.rows) take(world, table, row, origin.version)
    return page.after === null
      ? { ...progress, table: tableAfter(table), after: null }
      : { ...progress, after: page.after }
  })
  return true
}

/** Where every blob lies that the taken rows name. */
async function takeBlobs(world: World, env: Env, parent: Parent, progress: Progress): Promise<boolean> {
  const last = typeof progress.after?.[0] === 'string' ? progress.after[0] : ''
  const wanted = world.sql
    .exec<{ sha256: string }>(
      `SELECT DISTINCT sha256 FROM (${references}) WHERE sha256 > ? ORDER BY sha256 LIMIT ?`,
      last,
      blobsPerStep,
    )
    .toArray()
    .map(({ sha256 }) => sha256)
  const rows = wanted.length === 0 ? { placed: [], inline: [] } : await parent.forkBlobs(wanted)
  await holdForeign(env, world.identity, rows)
  advance(world, progress, () => {
    takeBlobRows(world, rows, Date.now())
    const end = wanted.at(-1)
    return wanted.length < blobsPerStep || end === undefined
      ? { ...progress, table: 'done', after: null }
      : { ...progress, after: [end] }
  })
  return true
}

/** Applies a step, unless another request has done so while this one was asking. */
function advance(world: World, seen: Progress, apply: () => Progress): void {
  if (world.state !== 'live') return
  const now = hydrationOf(world)
  if (now === null || now.table !== seen.table || JSON.stringify(now.after) !== JSON.stringify(seen.after))
    return
  world.storage.transactionSync(() => save(world, apply()))
}

/** An entry that the parent has since changed is, for the child, still the present one. */
function take({ sql }: World, table: TakenTable, row: Row, version: number): void {
  const stillPresent = table === 'past' && typeof row.until === 'number' && row.until > version
  const { until: _, ...entry } = row
  if (stillPresent) insertRow(sql, 'entries', entry)
  else insertRow(sql, table, row)
}

function insertRow(sql: SqlStorage, table: string, row: Row): void {
  const columns = Object.keys(row)
  sql.exec(
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')}) ON CONFLICT DO NOTHING`,
    ...Object.values(row),
  )
}

function tableAfter(table: TakenTable): Progress['table'] {
  return takenTables[takenTables.indexOf(table) + 1] ?? 'blobs'
}

function save(world: World, progress: Progress): void {
  world.setMeta('hydration', JSON.stringify(progress))
}
