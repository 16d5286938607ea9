// The outbox: what the catalog has not heard yet. It needs no rows of its own, because the journal says what each version
// changed; all it keeps is how far the catalog is. Delivered by alarm, in order; nothing that answers a client waits for it.

import {
  type ChangeRow,
  type CommitRow,
  type ErasedRow,
  type EventRow,
  eraseValues,
  type ProjectionBatch,
  project,
  projectSession,
  removeSession,
  type SessionRow,
} from '../catalog/index.ts'
import { hex } from '../crypto.ts'
import type { EntryKind } from '../protocol/refs.ts'
import { each, inParts, partRows } from './each.ts'
import { changesOf, commitColumns, entryOfVersion, type CommitRow as JournalRow } from './history.ts'
import { updatedAt } from './lifecycle.ts'
import { storedText } from './store.ts'
import { erasedOf, eraseOperation } from './time/erased-ref.ts'
import type { World } from './world.ts'

/** What one run of the outbox achieved; `more` when a batch was full, so that the rest need not wait. */
export type Delivery = 'done' | 'more' | 'failed'

const commitsPerBatch = 1_000
const bytesPerBatch = 4 * 1024 * 1024

/** The newest version the catalog has. */
export function projectedVersion(world: World): number {
  return Number(world.meta('projected') ?? world.identity.origin?.version ?? 0)
}

/** True when the catalog lacks a commit, or a change of the session's own row. */
export function outboxHolds(world: World): boolean {
  return projectedVersion(world) < world.head.version || world.meta('row') !== rowMark(world)
}

/** Sends one batch. Never throws: a catalog that is down or slow only makes it late. */
export async function deliver(world: World, catalog: D1Database): Promise<Delivery> {
  try {
    const { fleet, session } = world.identity
    const mark = rowMark(world)
    const batch = nextBatch(world)
    if (batch === null) {
      await projectSession(catalog, { fleet, session, row: sessionRow(world) })
      if (world.state === 'live') world.setMeta('row', mark)
      return 'done'
    }
    const outcome = await project(catalog, batch.sent)
    // Before the batch counts as told: what was erased must be gone there too.
    if (outcome.ok) await eraseValues(catalog, fleet, session, batch.erased)
    // The session may have been deleted while the catalog was writing.
    if (world.state !== 'live') return 'more'
    // A session that is here and not there: asked again, but ever less often.
    if (!outcome.ok && outcome.code === 'gone') return 'failed'
    world.setMeta('projected', String(outcome.projected))
    if (outcome.ok && world.meta('row') !== mark) world.setMeta('row', mark)
    return outcome.ok && !batch.full ? 'done' : 'more'
  } catch (error) {
    console.warn('the catalog could not be told', error instanceof Error ? error.message : 'unknown')
    return 'failed'
  }
}

/** Takes a deleted session out of the catalog, a bounded part at a time. */
export async function withdraw(catalog: D1Database, fleet: string, session: string): Promise<Delivery> {
  try {
    return (await removeSession(catalog, fleet, session)).more ? 'more' : 'done'
  } catch (error) {
    console.warn('the catalog could not be told', error instanceof Error ? error.message : 'unknown')
    return 'failed'
  }
}

/** Changes whenever the session's row in the catalog would. */
function rowMark(world: World): string {
  return `${world.identity.updated_at}`
}

function sessionRow(world: World): SessionRow {
  const { identity, head } = world
  const { title, labels, created_at, expires_at, origin } = identity
  return {
    title,
    labels,
    created_at,
    expires_at,
    origin,
    updated_at: updatedAt(world),
    head_version: head.version,
    digest: head.digest,
  }
}

interface Batch {
  sent: ProjectionBatch
  /** Values that these commits took away for good. */
  erased: ErasedRow[]
  /** True when there is more than one batch may carry. */
  full: boolean
}

/** What the catalog lacks, as far as one batch may carry it. */
function nextBatch(world: World): Batch | null {
  const { sql, identity, head } = world
  const from = projectedVersion(world) + 1
  const rows = sql.exec<JournalRow>(
    `SELECT ${commitColumns} FROM commits WHERE version >= ? ORDER BY version LIMIT ?`,
    from,
    commitsPerBatch,
  )
  const eventOf = eventReader(sql)
  const commits: CommitRow[] = []
  const events: EventRow[] = []
  const changes: ChangeRow[] = []
  const erased: ErasedRow[] = []
  let to = from
  let bytes = 0
  for (const row of each(rows)) {
    const { version, at, actor, message, cause } = row
    const ops = changesOf(sql, row)
    commits.push({
      version,
      at,
      actor,
      message,
      cause,
      digest: hex(row.digest),
      ops: JSON.stringify(ops.map(({ op, ref }) => ({ op, ref }))),
    })
    for (const { op, ref, digest } of ops) {
      if (op === eraseOperation) {
        erased.push(erasedOf(ref))
        continue
      }
      const cut = ref.indexOf(':')
      const kind = ref.slice(0, cut)
      const key = ref.slice(cut + 1)
      if (kind === 'log') {
        const event = eventOf(Number(key))
        if (event === undefined) continue
        events.push(event)
        bytes += event.payload?.length ?? 0
      } else {
        const change = changeOf(sql, kind, key, version, digest)
        changes.push(change)
        bytes += change.value?.length ?? 0
      }
    }
    bytes += row.changes.length
    to = version
    if (bytes > bytesPerBatch) break
  }
  eventOf(Number.POSITIVE_INFINITY)
  if (commits.length === 0) return null
  const { fleet, session } = identity
  const sent = { fleet, session, row: sessionRow(world), from, to, commits, events, changes }
  return { sent, erased, full: to < head.version }
}

/** Finds events by rising seq, many in one statement: one each would cost several times the event. Ended by `Infinity`. */
function eventReader(sql: SqlStorage): (seq: number) => EventRow | undefined {
  let rows: Generator<EventRow> | undefined
  let row: EventRow | undefined
  return (seq) => {
    if (seq === Number.POSITIVE_INFINITY) {
      rows?.return(undefined)
      return undefined
    }
    rows ??= inParts(partRows, (after) =>
      sql.exec<EventRow & Record<string, SqlStorageValue>>(
        `SELECT seq, version, at, actor, type, lane, key, parent, ${storedText} AS payload, blob, size, lower(hex(digest)) AS digest
         FROM events WHERE seq >= ? ORDER BY seq LIMIT ?`,
        after === null ? seq : after.seq + 1,
        partRows,
      ),
    )
    while (row === undefined || row.seq < seq) {
      const next = rows.next()
      if (next.done) return undefined
      row = next.value
    }
    return row.seq === seq ? row : undefined
  }
}

function changeOf(
  sql: SqlStorage,
  kind: string,
  key: string,
  version: number,
  digest: string | null,
): ChangeRow {
  // What `formatRef` wrote begins with a kind.
  const entry = digest === null ? null : entryOfVersion(sql, kind as EntryKind, key, version)
  return {
    kind,
    key,
    version,
    value: entry?.text ?? null,
    blob: entry?.blob ?? (kind === 'file' ? blobOf(entry?.text ?? null) : null),
    size: entry?.size ?? 0,
    digest,
  }
}

/** The bytes that a file refers to, so that the catalog can tell who refers to a blob. */
function blobOf(file: string | null): string | null {
  if (file === null) return null
  const { blob }: { blob?: string } = JSON.parse(file)
  return blob ?? null
}
