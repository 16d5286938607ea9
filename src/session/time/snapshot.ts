// Taking a snapshot: pages and blobs first, the manifest next, the row that makes it a snapshot last. Killed anywhere before,
// there is no snapshot, only pages that nothing refers to.

import { hashes } from '../../crypto.ts'
import type { Env } from '../../env.ts'
import { manifestKey, pageKey } from '../../media/page-keys.ts'
import { type Failure, fail, type Outcome } from '../../protocol/errors.ts'
import type { RefKind } from '../../protocol/refs.ts'
import { sealManifest } from '../../snapshot/manifest.ts'
import { type Item, type PageRef, type Place, writePage } from '../../snapshot/page.ts'
import { earlierAnswer, keepAnswer } from '../answers.ts'
import { locateBlobs } from '../blobs.ts'
import { blobsOf, missingBlob } from '../blobs-present.ts'
import type { At, Caller } from '../rpc.ts'
import { resolveAt, rfc3339 } from '../time.ts'
import type { World } from '../world.ts'
import { holdFamily } from './family.ts'
import { itemsOfPage } from './items.ts'
import { markStored, pagesAt } from './page-list.ts'

export interface SnapshotRequest {
  name: string
  at: At
  message?: string | undefined
}

export interface SnapshotShown {
  name: string
  version: number
  root: string
  entries: number
  events: number
  bytes: number
  pages_written: number
  created_at: string
  message: string | null
}

export type SnapshotRow = {
  name: string
  version: number
  root: string
  entries: number
  events: number
  bytes: number
  pages: number
  pages_written: number
  created_at: number
  actor: string
  message: string | null
}

/** Pages on their way to R2 at one time. */
const parallel = 6

/** Snapshots the world as it was at a version, whatever is written meanwhile. */
export async function takeSnapshot(
  world: World,
  env: Env,
  caller: Caller,
  request: SnapshotRequest,
): Promise<Outcome<SnapshotShown>> {
  const { fleet, family } = world.identity
  const before = earlierAnswer<SnapshotShown>(world, caller.idempotency) ?? nameTaken(world, request.name)
  if (before) return before
  const resolved = resolveAt(world, request.at)
  if (!resolved.ok) return resolved
  const { version } = resolved
  // Retention must not prune what is being read.
  const letGo = world.hold(version)
  try {
    await holdFamily(env, world.identity)
    const pages = pagesAt(world, version)
    const { text, root } = sealManifest(hashes, { pages })
    let written = 0
    const missing = await eachOf(
      pages.filter((page) => !page.stored),
      parallel,
      async (page) => {
        const items = itemsOfPage(world, page, version)
        const blob = await missingBlob(world, env, page.kind, items)
        if (blob !== null) return blob
        if (await storePage(env, pageKey(fleet, family, page.name), withPlaces(world, page.kind, items)))
          written++
        if (world.state === 'live') markStored(world, page)
        return null
      },
    )
    if (missing !== null) return fail('corrupt', `the blob ${missing} is missing; no snapshot was made`)
    await env.BLOBS.put(manifestKey(fleet, family, root), text)
    return record(world, caller, request, { version, root, pages, written })
  } finally {
    letGo()
  }
}

interface Made {
  version: number
  root: string
  pages: readonly PageRef[]
  written: number
}

/** The row, in one step with a last look at whether it may still be made. */
function record(world: World, caller: Caller, request: SnapshotRequest, made: Made): Outcome<SnapshotShown> {
  const before =
    world.closed() ??
    earlierAnswer<SnapshotShown>(world, caller.idempotency) ??
    nameTaken(world, request.name)
  if (before) return before
  const { version, root, pages, written } = made
  const row: SnapshotRow = {
    name: request.name,
    version,
    root,
    entries: countOf(pages.filter((page) => page.kind !== 'log')),
    events: countOf(pages.filter((page) => page.kind === 'log')),
    bytes: bytesAt(world, version),
    pages: pages.length,
    pages_written: written,
    created_at: Date.now(),
    actor: caller.actor,
    message: request.message ?? null,
  }
  world.storage.transactionSync(() => {
    world.sql.exec(
      `INSERT INTO snapshots (name, version, root, entries, events, bytes, pages, pages_written, created_at, actor, message)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...Object.values(row),
    )
    tellOf(world, row.name, true)
    keepAnswer(world, caller.idempotency, show(row), row.created_at)
  })
  return { ok: true, ...show(row) }
}

export function listSnapshots(
  { sql }: World,
  after: string | null,
  limit: number,
): { items: SnapshotShown[]; next: string | null } {
  const rows = sql
    .exec<SnapshotRow>(
      'SELECT * FROM snapshots WHERE ?1 IS NULL OR name > ?1 ORDER BY name LIMIT ?2',
      after,
      limit + 1,
    )
    .toArray()
  const items = rows.slice(0, limit).map(show)
  return { items, next: rows.length > limit ? (items.at(-1)?.name ?? null) : null }
}

export function readSnapshot({ sql }: World, name: string): Outcome<SnapshotShown> {
  const row = sql.exec<SnapshotRow>('SELECT * FROM snapshots WHERE name = ?', name).toArray()[0]
  return row ? { ok: true, ...show(row) } : fail('not_found', 'there is no such snapshot')
}

/** Takes a snapshot's row away. Its pages stay while another snapshot names them; the sweep takes the others. */
export function dropSnapshot(world: World, name: string): Outcome<{ version: number }> {
  return world.storage.transactionSync(() => {
    const dropped = world.sql.exec('DELETE FROM snapshots WHERE name = ?', name)
    if (dropped.rowsWritten === 0) return fail('not_found', 'there is no such snapshot')
    tellOf(world, name, false)
    return { ok: true, version: world.head.version }
  })
}

function tellOf({ sql }: World, name: string, made: boolean): void {
  sql.exec(
    'INSERT INTO snapshot_news (name, made) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET made = excluded.made',
    name,
    made ? 1 : 0,
  )
}

function nameTaken({ sql }: World, name: string): Failure | null {
  const taken = sql.exec('SELECT 1 FROM snapshots WHERE name = ?', name).toArray()
  return taken.length > 0 ? fail('exists', 'there is a snapshot of this name') : null
}

/** The items with where their blobs lie, so that the page alone is enough to bring a lost session back. */
function withPlaces({ sql }: World, kind: RefKind, items: readonly Item[]): Item[] {
  return items.map((item) => {
    const blobs = blobsOf(kind, item)
    if (blobs.length === 0) return item
    return {
      ...item,
      places: locateBlobs(sql, blobs).map(
        ({ sha256, key, start, size }): Place => [sha256, key, start, size],
      ),
    }
  })
}

/** Stores a page if R2 does not have it; answers whether it did. */
async function storePage(env: Env, key: string, items: readonly Item[]): Promise<boolean> {
  const stored = await env.BLOBS.put(key, writePage(items), { onlyIf: new Headers({ 'if-none-match': '*' }) })
  return stored !== null
}

/** Works through a list, some at a time, until one answers something other than null. */
async function eachOf<T, R>(
  list: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R | null>,
): Promise<R | null> {
  let next = 0
  let found: R | null = null
  const worker = async () => {
    while (found === null) {
      const item = list[next++]
      if (item === undefined) return
      found ??= await work(item)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return found
}

function countOf(pages: readonly PageRef[]): number {
  return pages.reduce((sum, page) => sum + page.count, 0)
}

function bytesAt({ sql, head }: World, version: number): number {
  if (version === head.version) return head.counts.bytes
  return (
    sql.exec<{ bytes: number }>('SELECT bytes FROM commits WHERE version = ?', version).toArray()[0]?.bytes ??
    0
  )
}

function show({
  name,
  version,
  root,
  entries,
  events,
  bytes,
  pages_written,
  created_at,
  message,
}: SnapshotRow): SnapshotShown {
  return {
    name,
    version,
    root,
    entries,
    events,
    bytes,
    pages_written,
    created_at: rfc3339(created_at),
    message,
  }
}
