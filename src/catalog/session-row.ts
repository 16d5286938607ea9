// Brings a session's own row and its labels up to date. A row only moves forward: what an older message says about title,
// labels or head never replaces what a newer one said, in whatever order they arrive.

import type { SessionRow } from './batch.ts'
import { carry } from './carry.ts'

/** A range of commits that arrives with the row. */
export interface Range {
  from: number
  to: number
}

/** The version that a session's own history begins after. */
export function baseOf(row: SessionRow): number {
  return row.origin?.version ?? 0
}

/**
 * The statements, in order, last in the batch: they move `projected_version`, which the others compare with.
 *
 * @param range null when no commits come with it.
 */
export function sessionStatements(
  db: D1Database,
  fleet: string,
  session: string,
  row: SessionRow,
  range: Range | null,
): D1PreparedStatement[] {
  const labels = Object.entries(row.labels)
  const [pairs = '[]'] = carry(labels)
  const standing = [fleet, session, row.head_version, row.updated_at, pairs]
  return [
    db.prepare(dropLabels).bind(...standing),
    db.prepare(addLabels).bind(...standing),
    db
      .prepare(upsert)
      .bind(
        fleet,
        session,
        row.head_version,
        baseOf(row),
        row.digest,
        row.title,
        row.title?.toLowerCase() ?? null,
        JSON.stringify(Object.fromEntries(labels.sort(([a], [b]) => (a < b ? -1 : 1)))),
        row.created_at,
        row.updated_at,
        row.expires_at,
        row.origin?.session ?? null,
        row.origin?.version ?? null,
        range?.from ?? null,
        range?.to ?? null,
      ),
  ]
}

// Versions never decrease and `updated_at` does not within one, so the pair orders a session's rows.

/** The row knows its old labels, so they are found by key; a label that stays is not written again. */
const dropLabels = `
  DELETE FROM session_labels
  WHERE (fleet, key, value, session) IN (
    SELECT s.fleet, old.key, old.value, s.session
    FROM sessions AS s, json_each(s.labels) AS old
    WHERE s.fleet = ?1 AND s.session = ?2 AND NOT s.deleted AND (?3, ?4) >= (s.version, s.updated_at)
      AND (old.key, old.value) NOT IN (SELECT value ->> 0, value ->> 1 FROM json_each(?5))
  )`

const addLabels = `
  INSERT INTO session_labels (fleet, key, value, session)
  SELECT ?1, new.value ->> 0, new.value ->> 1, ?2
  FROM json_each(?5) AS new
  WHERE NOT EXISTS (
    SELECT 1 FROM sessions AS s
    WHERE s.fleet = ?1 AND s.session = ?2 AND (s.deleted OR (?3, ?4) < (s.version, s.updated_at))
  )
  ON CONFLICT DO NOTHING`

const newer = '(excluded.version, excluded.updated_at) >= (sessions.version, sessions.updated_at)'
const newest = (column: string) =>
  `${column} = CASE WHEN ${newer} THEN excluded.${column} ELSE sessions.${column} END`

/** ?14 and ?15 are the range; compared with NULL nothing holds, so without one nothing moves. */
const upsert = `
  INSERT INTO sessions (
    fleet, session, version, projected_version, digest, title, title_folded, labels,
    created_at, updated_at, expires_at, origin_session, origin_version
  )
  VALUES (?1, ?2, ?3, CASE WHEN ?14 <= ?4 + 1 THEN max(?4, ?15) ELSE ?4 END, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
  ON CONFLICT (fleet, session) DO UPDATE SET
    projected_version = CASE
      WHEN ?14 <= projected_version + 1 THEN max(projected_version, ?15)
      ELSE projected_version
    END,
    ${['version', 'digest', 'title', 'title_folded', 'labels', 'updated_at', 'expires_at'].map(newest).join(',\n    ')}
  WHERE NOT deleted AND (
    (?14 <= projected_version + 1 AND ?15 > projected_version)
    OR (
      ${newer}
      AND (version, digest, title, labels, updated_at, expires_at) IS NOT
        (excluded.version, excluded.digest, excluded.title, excluded.labels, excluded.updated_at, excluded.expires_at)
    )
  )`
