// Whether a journal that was taken in tells of the rows that came with it: each row was written by the commit that it names, and
// no commit wrote over it while it stood. The chain itself has been verified on the way in.

import { fail, type Outcome } from '../../protocol/errors.ts'
import type { Founding } from '../archive-rpc.ts'
import type { World } from '../world.ts'

const commitsPerStep = 2000

interface Progress {
  /** Rows that a commit has been found to have written. */
  found: number
}

/** Checks the commits after a version; answers the last one checked, or null at the end. */
export function stageCheck(
  world: World,
  founding: Founding,
  after: number,
): Outcome<{ next: number | null }> {
  const { sql } = world
  // What the floor's own commit wrote is not told.
  const from = Math.max(after, founding.floor)
  const begin: Progress = { found: 0 }
  const progress: Progress = after < 0 ? begin : JSON.parse(world.meta('staged') ?? JSON.stringify(begin))
  const versions = sql
    .exec<{ version: number }>(
      'SELECT version FROM commits WHERE version > ? ORDER BY version LIMIT ?',
      after,
      commitsPerStep,
    )
    .toArray()
  const last = versions.at(-1)
  if (last !== undefined) {
    const problem = stepProblem(sql, from, last.version)
    if (problem !== null) return fail('invalid', problem)
    progress.found += foundBetween(sql, from, last.version)
    world.setMeta('staged', JSON.stringify(progress))
  }
  if (versions.length === commitsPerStep && last !== undefined) return { ok: true, next: last.version }
  world.dropMeta('staged')
  const rows = sql
    .exec<{ n: number }>(
      `SELECT (SELECT count(*) FROM entries WHERE since > ?1) + (SELECT count(*) FROM past WHERE since > ?1)
         + (SELECT count(*) FROM events WHERE version > ?1) AS n`,
      founding.floor,
    )
    .one().n
  if (progress.found !== rows) return fail('invalid', 'a row was written by no commit of the journal')
  const problem = endProblem(sql, founding)
  return problem === null ? { ok: true, next: null } : fail('invalid', problem)
}

function endProblem(sql: SqlStorage, { floor, version }: Founding): string | null {
  const overlap = sql
    .exec<{ key: string }>(
      `SELECT a.kind || ':' || a.key AS key FROM past AS a WHERE a.until <= a.since OR a.until > ?1 OR EXISTS (
         SELECT 1 FROM past AS b WHERE b.kind = a.kind AND b.key = a.key AND b.since > a.since AND b.since < a.until
       ) OR EXISTS (SELECT 1 FROM entries AS e WHERE e.kind = a.kind AND e.key = a.key AND e.since < a.until) LIMIT 1`,
      version,
    )
    .toArray()[0]
  if (overlap !== undefined) return `${overlap.key} has two values at once`
  const foreign = sql
    .exec<{ seq: number }>(
      `SELECT e.seq AS seq FROM events AS e CROSS JOIN commits AS c ON c.version = e.version
       WHERE c.version > ? AND (e.at <> c.at OR e.actor <> c.actor) LIMIT 1`,
      floor,
    )
    .toArray()[0]
  return foreign === undefined ? null : `the event ${foreign.seq} is not of its commit's time or actor`
}

/** The changes of some commits, as rows: `version, kind, key, ref, digest`. A commit at the floor has none to be checked. */
const changes = `
  WITH lines AS (
    SELECT version, value AS line FROM commits, json_each(commits.changes) WHERE version > ?1 AND version <= ?2
    UNION ALL
    SELECT version, value FROM more_changes, json_each(more_changes.changes) WHERE version > ?1 AND version <= ?2
  ), changes AS (
    SELECT DISTINCT version, line ->> 1 AS ref, unhex(line ->> 2) AS digest,
      substr(line ->> 1, 1, instr(line ->> 1, ':') - 1) AS kind, substr(line ->> 1, instr(line ->> 1, ':') + 1) AS key
    FROM lines WHERE line ->> 2 IS NOT NULL
  )`

function foundBetween(sql: SqlStorage, after: number, last: number): number {
  return sql
    .exec<{ n: number }>(
      `${changes}
       SELECT (SELECT count(*) FROM changes AS c JOIN entries AS e ON e.kind = c.kind AND e.key = c.key
                WHERE e.since = c.version AND e.digest = c.digest)
         + (SELECT count(*) FROM changes AS c JOIN past AS p ON p.kind = c.kind AND p.key = c.key AND p.since = c.version
              WHERE p.digest = c.digest)
         + (SELECT count(*) FROM changes AS c JOIN events AS e ON e.seq = CAST(c.key AS INTEGER)
              WHERE c.kind = 'log' AND e.version = c.version AND e.digest = c.digest) AS n`,
      after,
      last,
    )
    .one().n
}

function stepProblem(sql: SqlStorage, after: number, last: number): string | null {
  const first = (query: string, ...given: SqlStorageValue[]): string | undefined =>
    sql.exec<{ name: string }>(query, ...given).toArray()[0]?.name
  const outlived = first(
    `${changes}
     SELECT c.ref || '@' || c.version AS name FROM changes AS c WHERE EXISTS (
       SELECT 1 FROM entries AS e WHERE e.kind = c.kind AND e.key = c.key AND e.since < c.version
     ) OR EXISTS (
       SELECT 1 FROM past AS p WHERE p.kind = c.kind AND p.key = c.key AND p.since < c.version AND p.until > c.version
     ) LIMIT 1`,
    after,
    last,
  )
  if (outlived !== undefined) return `a value outlived the commit that wrote over it, ${outlived}`
  const misplaced = first(
    `SELECT version AS name FROM commits AS c WHERE version > ?1 AND version <= ?2 AND seq <>
       coalesce((SELECT max(seq) FROM events WHERE seq <= c.seq), 0)
     OR (version > ?1 AND version <= ?2 AND EXISTS (SELECT 1 FROM events AS e WHERE e.seq = c.seq AND e.version > c.version))
     OR (version > ?1 AND version <= ?2 AND EXISTS (SELECT 1 FROM events AS e WHERE e.seq = c.seq + 1 AND e.version <= c.version))
     LIMIT 1`,
    after,
    last,
  )
  if (misplaced !== undefined) return `the commit ${misplaced} ends at another event`
  return misplaced === undefined ? null : `the commit ${misplaced} ends at another event`
}
