// Reading the log: pages by seq, one event, and the calls that still wait for a result.

import { hex } from '../crypto.ts'
import { fail, type Outcome } from '../protocol/errors.ts'
import { each } from './each.ts'
import { noValue, noValueMark } from './erased.ts'
import { PageBuilder, valuePiece } from './pieces.ts'
import type { At, LogQuery, PageQuery, PageRead, Piece } from './rpc.ts'
import { valueColumns } from './store.ts'
import { activeRanges, type Range } from './time/active.ts'
import { resolveAt, rfc3339 } from './time.ts'
import type { World } from './world.ts'

export type EventRow = {
  seq: number
  version: number
  at: number
  actor: string
  type: string
  lane: string
  key: string | null
  parent: number | null
  inputs: string | null
  origin: string | null
  text: string | null
  blob: string | null
  blob_place: string | null
  size: number
  salt: ArrayBuffer
  digest: ArrayBuffer
}

export const eventColumns = `seq, version, at, actor, type, lane, key, parent, inputs, origin, ${valueColumns}`

export function listLog(world: World, query: LogQuery): Outcome<PageRead> {
  const resolved = resolveAt(world, query.at)
  if (!resolved.ok) return resolved
  const { order, limit, type, lane } = query
  const position = typeof query.cursor === 'number' ? query.cursor : null
  const low = Math.max(query.after ?? 0, order === 'asc' ? (position ?? 0) : 0)
  const newest = seqAt(world, resolved.version)
  const before = query.before ?? newest + 1
  const high = Math.min(before, newest + 1, order === 'desc' ? (position ?? newest + 1) : newest + 1)
  const ranges = query.view === 'all' ? [{ from: 1, to: newest }] : activeRanges(world.sql, newest)
  if (order === 'desc') ranges.reverse()
  return page(
    rowsIn(world.sql, ranges, { low, high, type, lane, order, most: limit + 1 }),
    limit,
    resolved.version,
  )
}

interface RowQuery {
  /** Both excluded. */
  low: number
  high: number
  type: string | null
  lane: string | null
  order: 'asc' | 'desc'
  most: number
}

/** The rows of some ranges of the log, one after the other. */
function* rowsIn(
  sql: SqlStorage,
  ranges: readonly Range[],
  { low, high, type, lane, order, most }: RowQuery,
): Generator<EventRow> {
  let left = most
  for (const { from, to } of ranges) {
    const above = Math.max(low, from - 1)
    const below = Math.min(high, to + 1)
    if (above + 1 >= below) continue
    const rows = sql.exec<EventRow>(
      `SELECT ${eventColumns} FROM events
       WHERE seq > ?1 AND seq < ?2 AND (?3 IS NULL OR type = ?3) AND (?4 IS NULL OR lane = ?4)
       ORDER BY seq ${order === 'asc' ? 'ASC' : 'DESC'} LIMIT ?5`,
      above,
      below,
      type,
      lane,
      left,
    )
    for (const row of each(rows)) {
      yield row
      if (--left === 0) return
    }
  }
}

export function readEvent(
  world: World,
  seq: number,
  at: At,
): Outcome<{ version: number; since: number; digest: string; event: Piece[] }> {
  const resolved = resolveAt(world, at)
  if (!resolved.ok) return resolved
  const row = world.sql.exec<EventRow>(`SELECT ${eventColumns} FROM events WHERE seq = ?`, seq).toArray()[0]
  if (!row || row.version > resolved.version) return fail('not_found', `the log has no event ${seq}`)
  if (valuePiece(row) === null) return noValue(row, `log:${seq}`)
  return {
    ok: true,
    version: resolved.version,
    since: row.version,
    digest: hex(row.digest),
    event: eventPieces(row),
  }
}

/** Tool calls with no later result, oldest first. */
export function pending(world: World, query: PageQuery): Outcome<PageRead> {
  const resolved = resolveAt(world, query.at)
  if (!resolved.ok) return resolved
  const after = typeof query.cursor === 'number' ? query.cursor : 0
  const newest = seqAt(world, resolved.version)
  // Only what is active calls or answers: a revert takes a result back, and its call waits again.
  const active = `EXISTS (SELECT 1 FROM json_each(?2) AS r WHERE $.seq BETWEEN r.value ->> 0 AND r.value ->> 1)`
  const rows = world.sql.exec<EventRow>(
    `SELECT ${eventColumns} FROM events AS c
     WHERE type = 'tool_call' AND call IS NOT NULL AND seq > ?1 AND ${active.replace('$', 'c')}
       AND NOT EXISTS (
         SELECT 1 FROM events AS e
         WHERE e.type = 'tool_result' AND e.call IS NOT NULL AND e.call = c.call AND e.seq > c.seq AND ${active.replace('$', 'e')})
     ORDER BY seq LIMIT ?3`,
    after,
    JSON.stringify(activeRanges(world.sql, newest).map(({ from, to }) => [from, to])),
    query.limit + 1,
  )
  return page(rows, query.limit, resolved.version)
}

function page(rows: Iterable<EventRow>, limit: number, version: number): Outcome<PageRead> {
  const builder = new PageBuilder(limit)
  for (const row of each(rows)) {
    if (!builder.add(row.seq, ...eventPieces(row))) break
  }
  return { ok: true, ...builder.page(version) }
}

/** The newest event of a version. */
export function seqAt(world: World, version: number): number {
  const { head, sql } = world
  if (version === head.version) return head.seq
  return (
    sql.exec<{ seq: number }>('SELECT seq FROM commits WHERE version = ?', version).toArray()[0]?.seq ?? 0
  )
}

export function eventPieces(row: EventRow): Piece[] {
  const { seq, version, at, actor, type, lane, key, parent, inputs, origin } = row
  const payload = valuePiece(row)
  const optional =
    (key === null ? '' : `,"key":${JSON.stringify(key)}`) +
    (parent === null ? '' : `,"parent":${parent}`) +
    (inputs === null ? '' : `,"from":${inputs}`) +
    (origin === null ? '' : `,"origin":${origin}`) +
    (payload === null ? noValueMark(row) : '')
  const head =
    `{"seq":${seq},"version":${version},"at":"${rfc3339(at)}","actor":${JSON.stringify(actor)},` +
    `"type":${JSON.stringify(type)},"lane":"${lane}"${optional},"payload":`
  return [head, payload ?? 'null', '}']
}
