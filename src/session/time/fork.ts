// Both sides of a fork. The parent says what the child begins with and hands over rows, a bounded part at a time; it keeps them,
// even when it is deleted, until the child has all it needs.

import { fail, type Outcome } from '../../protocol/errors.ts'
import { each } from '../each.ts'
import { seqAt } from '../read-log.ts'
import type { At } from '../rpc.ts'
import { resolveAt } from '../time.ts'
import type { Identity, Origin, World } from '../world.ts'

/** What a child is founded with: everything but rows. */
export interface ForkSeed {
  origin: Origin
  ancestry: Origin[]
  family: string
  salt_key: string
  title: string | null
  labels: Record<string, string>
  /** As the parent's: what was never there, and what is no longer kept. */
  floor: number
  pruned: number
  /** The origin's commit, from which numbers and chain go on; null at version 0. */
  commit: Row | null
}

export type Row = Record<string, SqlStorageValue>

/** Tables a child takes over, in this order: what answers reads of the present first. */
export const takenTables = ['entries', 'past', 'cuts', 'events', 'more_changes', 'commits'] as const
export type TakenTable = (typeof takenTables)[number]

export interface RowsQuery {
  version: number
  table: TakenTable
  /** The last row's place in the table's order; null to begin. */
  after: SqlStorageValue[] | null
}

export interface RowsPage {
  rows: Row[]
  after: SqlStorageValue[] | null
}

/** Small enough that a writer waits for no more than some milliseconds of it. */
const rowsPerPage = 1000
const bytesPerPage = 2 * 1024 * 1024

/** Begins a fork: the child is remembered before it exists, so that no deletion can come between. */
export function beginFork(world: World, at: At, child: string): Outcome<ForkSeed> {
  const resolved = resolveAt(world, at)
  if (!resolved.ok) return resolved
  const { version } = resolved
  const { identity, sql } = world
  if (child === identity.session) return fail('exists', 'a session cannot be its own fork')
  sql.exec(
    `INSERT INTO children (session, version, settled, begun) VALUES (?, ?, 0, ?)
     ON CONFLICT (session) DO UPDATE SET version = excluded.version, settled = 0, begun = excluded.begun`,
    child,
    version,
    Date.now(),
  )
  const origin = { session: identity.session, version }
  return {
    ok: true,
    origin,
    ancestry: [origin, ...commonAncestry(identity, version)],
    family: identity.family,
    salt_key: identity.salt_key,
    title: identity.title,
    labels: identity.labels,
    floor: identity.floor,
    // Of a version that only a snapshot keeps, nothing before it is whole.
    pruned: Math.min(world.pruned, version),
    commit: sql.exec<Row>('SELECT * FROM commits WHERE version = ?', version).toArray()[0] ?? null,
  }
}

/** The ancestors of which a world at this version is a continuation, each at the version they part. */
export function commonAncestry({ ancestry }: Pick<Identity, 'ancestry'>, version: number): Origin[] {
  return ancestry.map((origin) => ({ ...origin, version: Math.min(origin.version, version) }))
}

/** Rows of one table as a version has them, in the table's order. */
export function rowsForChild(world: World, { version, table, after }: RowsQuery): RowsPage {
  const rows: Row[] = []
  let bytes = 0
  for (const row of each(select(world, table, version, after))) {
    rows.push(row)
    for (const value of Object.values(row)) bytes += sizeOf(value)
    const last = rows.length
    if (last >= rowsPerPage || bytes > bytesPerPage) return { rows, after: placeOf(table, row) }
  }
  return { rows, after: null }
}

function select(world: World, table: TakenTable, version: number, after: SqlStorageValue[] | null) {
  const { sql } = world
  switch (table) {
    case 'entries':
      return sql.exec<Row>(
        'SELECT * FROM entries WHERE since <= ? AND (kind, key) > (?, ?) ORDER BY kind, key LIMIT ?',
        version,
        ...(after ?? ['', '']),
        rowsPerPage,
      )
    case 'past':
      return sql.exec<Row>(
        'SELECT * FROM past WHERE since <= ? AND (kind, key, since) > (?, ?, ?) ORDER BY kind, key, since LIMIT ?',
        version,
        ...(after ?? ['', '', 0]),
        rowsPerPage,
      )
    case 'more_changes':
      return sql.exec<Row>(
        'SELECT * FROM more_changes WHERE version <= ? AND (version, part) > (?, ?) ORDER BY version, part LIMIT ?',
        version,
        ...(after ?? [0, -1]),
        rowsPerPage,
      )
    case 'commits':
      return sql.exec<Row>(
        'SELECT * FROM commits WHERE version < ? AND version > ? ORDER BY version LIMIT ?',
        version,
        ...(after ?? [0]),
        rowsPerPage,
      )
    default:
      return sql.exec<Row>(
        `SELECT * FROM ${table} WHERE seq <= ? AND seq > ? ORDER BY seq LIMIT ?`,
        seqAt(world, version),
        ...(after ?? [0]),
        rowsPerPage,
      )
  }
}

function placeOf(table: TakenTable, row: Row): SqlStorageValue[] {
  const columns = {
    entries: ['kind', 'key'],
    past: ['kind', 'key', 'since'],
    more_changes: ['version', 'part'],
    commits: ['version'],
    cuts: ['seq'],
    events: ['seq'],
  }
  return columns[table].map((column) => row[column] ?? null)
}

function sizeOf(value: SqlStorageValue): number {
  if (typeof value === 'string') return value.length
  return value instanceof ArrayBuffer ? value.byteLength : 8
}

/** A child that has what it needs, or that never came to be. */
export function settleChild({ sql }: World, child: string): void {
  sql.exec('UPDATE children SET settled = 1 WHERE session = ?', child)
}

/** A fork that was begun and did not come to be. */
export function forgetChild({ sql }: World, child: string): void {
  sql.exec('DELETE FROM children WHERE session = ?', child)
}

/** Every session that was ever forked from this one. */
export function childrenOf({ sql }: World): string[] {
  return sql
    .exec<{ session: string }>('SELECT session FROM children')
    .toArray()
    .map(({ session }) => session)
}

export function unsettledChildren({ sql }: World): { session: string; begun: number }[] {
  return sql
    .exec<{ session: string; begun: number }>('SELECT session, begun FROM children WHERE settled = 0')
    .toArray()
}
