// Applies what an outbox sends, each batch whole or not at all. Which of its commits are new is decided inside the one
// transaction that writes them, so repeated, overlapping, late and racing batches all end in the same rows.

import type { ChangeRow, CommitRow, EventRow, Projected, ProjectionBatch, SessionRow } from './batch.ts'
import { type Cell, carry, inlined } from './carry.ts'
import { cutOps } from './ops.ts'
import { baseOf, sessionStatements } from './session-row.ts'

/**
 * Brings a session's history in the catalog up to `batch.to`.
 *
 * @returns `gap` when the commits right before `batch.from` are not there yet: none of this batch's were written.
 */
export async function project(db: D1Database, batch: ProjectionBatch): Promise<Projected> {
  const { fleet, session, row, from, to } = batch
  const base = baseOf(row)
  const each = (sql: string, rows: readonly (readonly Cell[])[]) =>
    carry(rows).map((parcel) => db.prepare(sql).bind(fleet, session, base, from, parcel))
  const changes = lastOfEachVersion(batch.changes)
  const results = await db.batch<Standing>([
    ...each(insertCommits, batch.commits.map(commitCells)),
    ...each(insertEvents, batch.events.map(eventCells)),
    // Every old value is closed before a new one is written, or the first new one would be taken for the old.
    ...each(closeEntries, changes.map(closingCells)),
    ...each(insertEntries, entryRows(changes)),
    ...sessionStatements(db, fleet, session, row, { from, to }),
    standingOf(db, fleet, session),
  ])
  return outcome(results.at(-1)?.results[0], to, base)
}

/** Title, labels or expiry changed, or the session is new: no commit comes with it. */
export async function projectSession(
  db: D1Database,
  session: { fleet: string; session: string; row: SessionRow },
): Promise<Projected> {
  const { fleet, session: id, row } = session
  const results = await db.batch<Standing>([
    ...sessionStatements(db, fleet, id, row, null),
    standingOf(db, fleet, id),
  ])
  return outcome(results.at(-1)?.results[0], baseOf(row), baseOf(row))
}

interface Standing {
  projected_version: number
  deleted: number
}

function standingOf(db: D1Database, fleet: string, session: string): D1PreparedStatement {
  return db
    .prepare('SELECT projected_version, deleted FROM sessions WHERE fleet = ?1 AND session = ?2')
    .bind(fleet, session)
}

function outcome(standing: Standing | undefined, to: number, base: number): Projected {
  const projected = standing?.projected_version ?? base
  if (standing?.deleted) return { ok: false, code: 'gone', projected }
  return projected >= to ? { ok: true, projected } : { ok: false, code: 'gap', projected }
}

// Cells stand in the order in which the statements below read them; `version` is always cell 0.

function commitCells(commit: CommitRow): Cell[] {
  const { version, at, actor, message, cause, digest } = commit
  const { ops, more } = cutOps(commit.ops)
  return [version, at, actor, message, cause, digest, ops, more ? 1 : 0]
}

function eventCells(event: EventRow): Cell[] {
  const { version, seq, at, actor, type, lane, key, parent, blob, size, digest } = event
  return [version, seq, at, actor, type, lane, key, parent, inlined(event.payload), blob, size, digest]
}

function closingCells({ version, kind, key }: ChangeRow): Cell[] {
  return [version, kind, key]
}

/** One row a value, with the version that ended it when that lies in this batch too. */
function entryRows(changes: readonly ChangeRow[]): Cell[][] {
  const nextVersion = new Map<string, number>()
  const rows: Cell[][] = []
  for (const change of changes.toReversed()) {
    const { version, kind, key, blob, size, digest } = change
    const entry = JSON.stringify([kind, key])
    const until = nextVersion.get(entry) ?? null
    nextVersion.set(entry, version)
    if (digest !== null) rows.push([version, kind, key, until, inlined(change.value), blob, size, digest])
  }
  return rows.reverse()
}

/** One commit may touch an entry several times; only what it left behind was ever a value of the world. */
function lastOfEachVersion(changes: readonly ChangeRow[]): ChangeRow[] {
  const last = new Map<string, ChangeRow>()
  for (const change of changes) {
    last.set(JSON.stringify([change.version, change.kind, change.key]), change)
  }
  return [...last.values()].sort((a, b) => a.version - b.version)
}

/**
 * ?1 fleet, ?2 session, ?3 the version its history begins after, ?4 the batch's first version, ?5 rows as JSON. `fresh` are
 * the rows the catalog does not have: none at all when commits before ?4 are missing or the session is being removed.
 */
const fresh = `
  WITH
    known(version) AS (
      SELECT projected_version FROM sessions WHERE fleet = ?1 AND session = ?2 AND NOT deleted
      UNION ALL
      SELECT ?3 WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE fleet = ?1 AND session = ?2)
    ),
    fresh(cells) AS (
      SELECT rows.value
      FROM known CROSS JOIN json_each(?5) AS rows
      WHERE ?4 <= known.version + 1 AND rows.value ->> 0 > known.version
    )`

const cells = (count: number) => Array.from({ length: count }, (_, i) => `cells ->> ${i}`).join(', ')

const insertCommits = `
  INSERT INTO commits (fleet, session, version, at, actor, message, cause, digest, ops, ops_more)
  ${fresh}
  SELECT ?1, ?2, ${cells(8)} FROM fresh`

const insertEvents = `
  INSERT INTO events
    (fleet, session, version, seq, at, actor, type, lane, key, parent, payload, blob, size, digest)
  ${fresh}
  SELECT ?1, ?2, ${cells(12)} FROM fresh`

/**
 * An entry's latest row is one seek on the key, however long its past; one that was taken away is closed already. Fleet and
 * session are joined, not given: as constants they make the planner walk all of the session's entries instead.
 */
const closeEntries = `
  ${fresh},
  first(fleet, session, version, kind, key) AS (
    SELECT ?1, ?2, min(cells ->> 0), cells ->> 1, cells ->> 2 FROM fresh GROUP BY 4, 5
  )
  UPDATE entries SET until = first.version
  FROM first
  WHERE entries.fleet = first.fleet AND entries.session = first.session
    AND entries.kind = first.kind AND entries.key = first.key AND until IS NULL
    AND since = (
      SELECT max(latest.since) FROM entries AS latest
      WHERE latest.fleet = ?1 AND latest.session = ?2 AND latest.kind = first.kind AND latest.key = first.key
    )`

const insertEntries = `
  INSERT INTO entries (fleet, session, since, kind, key, until, value, blob, size, digest)
  ${fresh}
  SELECT ?1, ?2, ${cells(8)} FROM fresh`
