// Snapshots in the catalog: the manifest's row, and a row for each object in R2 that it consists of.

import { type Cell, carry } from './carry.ts'

export interface SnapshotRow {
  name: string
  version: number
  digest: string
  root: string
  family: string
  entries: number
  events: number
  bytes: number
  /** Epoch milliseconds. */
  created_at: number
  message: string | null
}

export interface SnapshotObjectRow {
  sha256: string
  kind: 'manifest' | 'page' | 'blob'
  r2_key: string
  start: number
  size: number
}

/** Adds a part of a snapshot's objects. The same again changes nothing. */
export async function projectSnapshotObjects(
  db: D1Database,
  { fleet, session, name }: { fleet: string; session: string; name: string },
  objects: readonly SnapshotObjectRow[],
): Promise<void> {
  const rows = objects.map(({ sha256, kind, r2_key, start, size }): Cell[] => [
    sha256,
    kind,
    r2_key,
    start,
    size,
  ])
  if (rows.length === 0) return
  await db.batch(
    carry(rows).map((parcel) =>
      db
        .prepare(
          `INSERT INTO snapshot_objects (fleet, session, name, sha256, kind, r2_key, start, size)
           SELECT ?1, ?2, ?3, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?4)
           WHERE true ON CONFLICT DO NOTHING`,
        )
        .bind(fleet, session, name, parcel),
    ),
  )
}

/** Adds the snapshot itself, once all its objects are there. */
export async function projectSnapshot(
  db: D1Database,
  { fleet, session, row }: { fleet: string; session: string; row: SnapshotRow },
): Promise<void> {
  const { name, version, digest, root, family, entries, events, bytes, created_at, message } = row
  await db
    .prepare(
      `INSERT INTO snapshots (fleet, session, name, version, digest, root, family, entries, events, bytes, created_at, message)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    )
    .bind(fleet, session, name, version, digest, root, family, entries, events, bytes, created_at, message)
    .run()
}

/** Takes a dropped snapshot's rows away. */
export async function removeSnapshot(
  db: D1Database,
  { fleet, session, name }: { fleet: string; session: string; name: string },
): Promise<void> {
  await db.batch(
    ['snapshot_objects', 'snapshots'].map((table) =>
      db
        .prepare(`DELETE FROM ${table} WHERE fleet = ? AND session = ? AND name = ?`)
        .bind(fleet, session, name),
    ),
  )
}

/** A snapshot as the catalog knows it, for a session whose own rows are lost. */
export async function findSnapshot(
  db: D1Database,
  { fleet, session, name }: { fleet: string; session: string; name: string },
): Promise<SnapshotRow | null> {
  return db
    .prepare(
      `SELECT name, version, digest, root, family, entries, events, bytes, created_at, message FROM snapshots
       WHERE fleet = ? AND session = ? AND name = ?`,
    )
    .bind(fleet, session, name)
    .first<SnapshotRow>()
}
