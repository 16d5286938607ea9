// What the catalog knows of a session whose own rows are lost: enough to found it again beside a snapshot's pages.

import type { SnapshotRow } from './snapshots.ts'

export interface LostSession {
  title: string | null
  labels: Record<string, string>
  created_at: number
  updated_at: number
  expires_at: number | null
  origin: Origin | null
  /** Nearest first, as far as the catalog knows them. */
  ancestry: Origin[]
  /** Forks of it. */
  children: Origin[]
}

interface Origin {
  session: string
  version: number
}

type Named = { fleet: string; session: string }

interface Row {
  title: string | null
  labels: string
  created_at: number
  updated_at: number
  expires_at: number | null
  origin_session: string | null
  origin_version: number | null
  deleted: number
}

/** Whether the catalog has a session that was not deleted. */
export async function knowsSession(db: D1Database, { fleet, session }: Named): Promise<boolean> {
  const row = await db
    .prepare('SELECT 1 FROM sessions WHERE fleet = ? AND session = ? AND NOT deleted')
    .bind(fleet, session)
    .first()
  return row !== null
}

export async function findLost(db: D1Database, { fleet, session }: Named): Promise<LostSession | null> {
  const row = await db
    .prepare(
      `SELECT title, labels, created_at, updated_at, expires_at, origin_session, origin_version, deleted
       FROM sessions WHERE fleet = ? AND session = ?`,
    )
    .bind(fleet, session)
    .first<Row>()
  if (row === null || row.deleted) return null
  const origin = originOf(row)
  const children = await db
    .prepare(
      `SELECT session, origin_version AS version FROM sessions
       WHERE fleet = ? AND origin_session = ? AND NOT deleted`,
    )
    .bind(fleet, session)
    .all<Origin>()
  return {
    title: row.title,
    labels: JSON.parse(row.labels),
    created_at: row.created_at,
    updated_at: row.updated_at,
    expires_at: row.expires_at,
    origin,
    ancestry: origin === null ? [] : await ancestryFrom(db, fleet, origin),
    children: children.results,
  }
}

/** A line of forks is followed only so far: it is a look-up each. */
const mostAncestors = 50

async function ancestryFrom(db: D1Database, fleet: string, nearest: Origin): Promise<Origin[]> {
  const line = [nearest]
  let last = nearest
  while (line.length < mostAncestors) {
    const row = await db
      .prepare('SELECT origin_session, origin_version FROM sessions WHERE fleet = ? AND session = ?')
      .bind(fleet, last.session)
      .first<Pick<Row, 'origin_session' | 'origin_version'>>()
    const next = row === null ? null : originOf(row)
    if (next === null) break
    // What came after the fork is no part of the line.
    last = { session: next.session, version: Math.min(next.version, last.version) }
    line.push(last)
  }
  return line
}

function originOf({ origin_session, origin_version }: Pick<Row, 'origin_session' | 'origin_version'>) {
  return origin_session === null || origin_version === null
    ? null
    : { session: origin_session, version: origin_version }
}

/** Snapshots of versions up to this one, the named one among them. */
export async function snapshotsUpTo(
  db: D1Database,
  { fleet, session }: Named,
  version: number,
): Promise<SnapshotRow[]> {
  const { results } = await db
    .prepare(
      `SELECT name, version, digest, root, family, entries, events, bytes, created_at, message FROM snapshots
       WHERE fleet = ? AND session = ? AND version <= ? ORDER BY name`,
    )
    .bind(fleet, session, version)
    .all<SnapshotRow>()
  return results
}

export interface BlobPlace {
  sha256: string
  key: string
  start: number
  size: number
}

/** A part of a snapshot's blobs, in the order of their SHA-256. */
export async function snapshotBlobs(
  db: D1Database,
  { fleet, session, name }: Named & { name: string },
  after: string,
  limit: number,
): Promise<BlobPlace[]> {
  const { results } = await db
    .prepare(
      `SELECT sha256, r2_key AS key, start, size FROM snapshot_objects
       WHERE fleet = ? AND session = ? AND name = ? AND kind = 'blob' AND sha256 > ? ORDER BY sha256 LIMIT ?`,
    )
    .bind(fleet, session, name, after, limit)
    .all<BlobPlace>()
  return results
}

export interface EventStamp {
  seq: number
  version: number
  at: number
  actor: string
}

/** When events were, and who wrote them: what no page tells. */
export async function eventStamps(
  db: D1Database,
  { fleet, session }: Named,
  from: number,
  to: number,
): Promise<EventStamp[]> {
  const { results } = await db
    .prepare(
      `SELECT seq, version, at, actor FROM events
       WHERE fleet = ? AND session = ? AND seq >= ? AND seq <= ? ORDER BY seq`,
    )
    .bind(fleet, session, from, to)
    .all<EventStamp>()
  return results
}

/** The first event of its own that the catalog has; null when it has none. */
export async function firstEvent(db: D1Database, { fleet, session }: Named): Promise<number | null> {
  const row = await db
    .prepare('SELECT min(seq) AS seq FROM events WHERE fleet = ? AND session = ?')
    .bind(fleet, session)
    .first<{ seq: number | null }>()
  return row?.seq ?? null
}

export interface CommitStamp {
  at: number
  actor: string
  message: string | null
  /** JSON. */
  cause: string | null
}

export async function commitStamp(
  db: D1Database,
  { fleet, session }: Named,
  version: number,
): Promise<CommitStamp | null> {
  return db
    .prepare('SELECT at, actor, message, cause FROM commits WHERE fleet = ? AND session = ? AND version = ?')
    .bind(fleet, session, version)
    .first<CommitStamp>()
}

/** Rows that one step takes away. */
const rowsPerStep = 1000

/**
 * Sets a session's history back to a version: what came after it is lost, and its numbers will be used again. Repeating it does
 * no harm.
 */
export async function rewind(
  db: D1Database,
  { fleet, session }: Named,
  version: number,
  digest: string,
): Promise<void> {
  const later = (table: string, key: string, column: string) =>
    db
      .prepare(
        `DELETE FROM ${table} WHERE fleet = ?1 AND session = ?2 AND (${key}) IN (
           SELECT ${key} FROM ${table} WHERE fleet = ?1 AND session = ?2 AND ${column} > ?3 LIMIT ?4)`,
      )
      .bind(fleet, session, version, rowsPerStep)
  for (let more = true; more; ) {
    const results = await db.batch([
      later('commits', 'version', 'version'),
      later('events', 'seq', 'version'),
      later('entries', 'kind, key, since', 'since'),
    ])
    more = results.some(({ meta }) => meta.changes >= rowsPerStep)
  }
  await db.batch([
    db
      .prepare('UPDATE entries SET until = NULL WHERE fleet = ? AND session = ? AND until > ?')
      .bind(fleet, session, version),
    db
      .prepare(
        `DELETE FROM snapshot_objects WHERE fleet = ?1 AND session = ?2 AND name IN (
           SELECT name FROM snapshots WHERE fleet = ?1 AND session = ?2 AND version > ?3)`,
      )
      .bind(fleet, session, version),
    db
      .prepare('DELETE FROM snapshots WHERE fleet = ? AND session = ? AND version > ?')
      .bind(fleet, session, version),
    db
      .prepare(
        `UPDATE sessions SET version = ?3, projected_version = ?3, digest = ?4 WHERE fleet = ?1 AND session = ?2`,
      )
      .bind(fleet, session, version, digest),
  ])
}
