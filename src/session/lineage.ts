// Where things come from, and what came of them. What an operation was made from stands with the entry or event it made; the
// table here is the same the other way round, so that both directions are a look-up.

import { fail, type Outcome } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import { parseRef } from '../protocol/refs.ts'
import type { At } from './rpc.ts'
import { resolveAt } from './time.ts'
import type { World } from './world.ts'

export interface LineageQuery {
  of: string
  direction: 'up' | 'down'
  depth: number
  at: At
}

export interface LineageEdge {
  from: string
  /** The version of the input that was meant; null where none was named. */
  from_version: number | null
  to: string
  /** The version that made `to` from it. */
  version: number
}

export interface LineageShown {
  version: number
  nodes: { ref: string; version: number | null }[]
  edges: LineageEdge[]
  /** True when there is more than an answer holds. */
  more: boolean
}

export const lineageTables = `
  CREATE TABLE lineage (
    input TEXT NOT NULL,
    output TEXT NOT NULL,
    version INTEGER NOT NULL,
    input_version INTEGER,
    PRIMARY KEY (input, output, version)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX lineage_by_output ON lineage (output, version);
`

/** Notes that a version made something from these. */
export function noteInputs(
  sql: SqlStorage,
  version: number,
  output: string,
  inputs: readonly string[],
): void {
  for (const text of inputs) {
    const ref = parseRef(text)
    if (ref === null) continue
    sql.exec(
      'INSERT INTO lineage (input, output, version, input_version) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
      `${ref.kind}:${ref.key}`,
      output,
      version,
      ref.version ?? null,
    )
  }
}

/** Makes the table again from what entries, their past and events say of their inputs. */
export function rebuildLineage(sql: SqlStorage): void {
  sql.exec('DELETE FROM lineage')
  const rows = sql.exec<{ output: string; version: number; inputs: string }>(
    `SELECT kind || ':' || key AS output, since AS version, inputs FROM entries WHERE inputs IS NOT NULL
     UNION ALL SELECT kind || ':' || key, since, inputs FROM past WHERE inputs IS NOT NULL
     UNION ALL SELECT 'log:' || seq, version, inputs FROM events WHERE inputs IS NOT NULL`,
  )
  for (const { output, version, inputs } of rows.toArray())
    noteInputs(sql, version, output, JSON.parse(inputs))
}

/**
 * Follows inputs upwards, or what was made downwards, as far as `depth`.
 *
 * Upwards, an edge is one of the version in which the thing was last made, as of the version asked about; downwards, everything
 * made until then counts.
 */
export function lineage(world: World, query: LineageQuery): Outcome<LineageShown> {
  const ref = parseRef(query.of)
  if (ref === null) return fail('invalid', 'not a reference', { pointer: 'of' })
  const resolved = resolveAt(world, query.at)
  if (!resolved.ok) return resolved
  const { version } = resolved
  const start = `${ref.kind}:${ref.key}`
  const seen = new Map<string, number | null>([[start, ref.version ?? lastWrite(world.sql, start, version)]])
  const edges: LineageEdge[] = []
  let level = [{ ref: start, version: Math.min(ref.version ?? version, version) }]
  let more = false
  for (let depth = 0; depth < query.depth && level.length > 0; depth++) {
    const next: typeof level = []
    for (const at of level) {
      for (const edge of query.direction === 'up'
        ? above(world.sql, at)
        : below(world.sql, at.ref, version)) {
        const other = query.direction === 'up' ? edge.from : edge.to
        if (edges.length >= limits.lineageNodes) {
          more = true
          continue
        }
        edges.push(edge)
        if (seen.has(other)) continue
        const known = query.direction === 'up' ? edge.from_version : edge.version
        seen.set(other, known ?? lastWrite(world.sql, other, version))
        next.push({ ref: other, version: query.direction === 'up' ? (known ?? edge.version) : version })
      }
    }
    level = next
  }
  const nodes = [...seen].map(([node, since]) => ({ ref: node, version: since }))
  return { ok: true, version, nodes, edges, more }
}

function above(sql: SqlStorage, { ref, version }: { ref: string; version: number }): LineageEdge[] {
  const made = lastWrite(sql, ref, version)
  return sql
    .exec<LineageEdge & Record<string, SqlStorageValue>>(
      `SELECT input AS "from", input_version AS from_version, output AS "to", version FROM lineage
       WHERE output = ? AND version = coalesce(?, (SELECT max(version) FROM lineage WHERE output = ?1 AND version <= ?3))
       ORDER BY input LIMIT ?4`,
      ref,
      made,
      version,
      limits.lineageNodes + 1,
    )
    .toArray()
}

function below(sql: SqlStorage, ref: string, version: number): LineageEdge[] {
  return sql
    .exec<LineageEdge & Record<string, SqlStorageValue>>(
      `SELECT input AS "from", input_version AS from_version, output AS "to", version FROM lineage
       WHERE input = ? AND version <= ? ORDER BY output, version LIMIT ?`,
      ref,
      version,
      limits.lineageNodes + 1,
    )
    .toArray()
}

/** The version that last wrote a thing, as of a version; null where it never was. */
function lastWrite(sql: SqlStorage, ref: string, version: number): number | null {
  const cut = ref.indexOf(':')
  const kind = ref.slice(0, cut)
  const key = ref.slice(cut + 1)
  const query =
    kind === 'log'
      ? 'SELECT max(version) AS version FROM events WHERE ?1 = ?1 AND seq = CAST(?2 AS INTEGER) AND version <= ?3'
      : `SELECT max(since) AS version FROM (
           SELECT since FROM entries WHERE kind = ?1 AND key = ?2 AND since <= ?3
           UNION ALL SELECT since FROM past WHERE kind = ?1 AND key = ?2 AND since <= ?3)`
  return sql.exec<{ version: number | null }>(query, kind, key, version).toArray()[0]?.version ?? null
}
