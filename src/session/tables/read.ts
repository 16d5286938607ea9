// Reading tables and rows: definitions, one row, and pages of rows by filter and order, at any version.

import { hex } from '../../crypto.ts'
import { type Canonical, canonical, type Json } from '../../protocol/canonical.ts'
import { type Failure, fail, type Outcome } from '../../protocol/errors.ts'
import { compileFilter } from '../../protocol/filter-sql.ts'
import { isScalar } from '../../protocol/tables.ts'
import { each } from '../each.ts'
import { noValue } from '../erased.ts'
import { PageBuilder } from '../pieces.ts'
import type { At, PageQuery, PageRead } from '../rpc.ts'
import { entriesFrom, entryAt } from '../store.ts'
import { resolveAt } from '../time.ts'
import type { World } from '../world.ts'
import { type Column, columnNamed, readTable, showTable, type Table, tableAt } from './definition.ts'
import { columnSql, resolveIn, rowsAt } from './relation.ts'
import { showRow } from './row.ts'

/** A single thing as JSON text, with what its headers say. */
export interface Shown {
  version: number
  since: number
  digest: string
  text: string
}

export interface RowsQuery {
  table: string
  at: At
  /** Column names; null for all. */
  select: string[] | null
  /** A filter's JSON text. */
  where: Canonical | null
  /** Column names, with a `-` for descending. */
  order: string[]
  limit: number
  /** `null`, or what a page before gave as `next`. */
  cursor: string | null
}

export function showTableAt(world: World, name: string, at: At): Outcome<Shown> {
  const resolved = resolveAt(world, at)
  if (!resolved.ok) return resolved
  const entry = entryAt(world.sql, 'table', name, resolved.version)
  if (entry === null) return absent(world, `there is no table ${name}`)
  if (entry.text === null) return noValue(entry, `table:${name}`)
  const table = readTable(name, entry.text, entry.since)
  if (table === null) return fail('corrupt', `table:${name} is no definition`)
  const rows = countRows(world, name, resolved.version)
  return {
    ok: true,
    version: resolved.version,
    since: entry.since,
    digest: hex(entry.digest),
    text: JSON.stringify({ ...showTable(table), rows }),
  }
}

function countRows(world: World, name: string, version: number): number {
  const at = version === world.head.version ? null : version
  return world.sql.exec<{ count: number }>(`SELECT count(*) AS count FROM (${rowsAt(name, at, 'r')})`).one()
    .count
}

export function listTables(world: World, query: PageQuery): Outcome<PageRead> {
  return list(world, query, 'table', (key, text, since) => {
    const table = readTable(key, text, since)
    return JSON.stringify(table === null ? { table: key, corrupt: true } : showTable(table))
  })
}

export function listViews(world: World, query: PageQuery): Outcome<PageRead> {
  return list(world, query, 'view', (view, text, since) => canonical({ view, ...JSON.parse(text), since }))
}

function list(
  world: World,
  query: PageQuery,
  kind: 'table' | 'view',
  show: (key: string, text: Canonical, since: number) => string,
): Outcome<PageRead> {
  const resolved = resolveAt(world, query.at)
  if (!resolved.ok) return resolved
  const builder = new PageBuilder(query.limit)
  const from = typeof query.cursor === 'string' ? query.cursor : ''
  for (const { key, text, since } of entriesFrom(
    world.sql,
    kind,
    from,
    query.cursor === null,
    resolved.version,
    world.head.version,
  )) {
    if (text !== null && !builder.add(key, show(key, text, since))) break
  }
  return { ok: true, ...builder.page(resolved.version) }
}

export function showView(world: World, view: string, at: At): Outcome<Shown> {
  const resolved = resolveAt(world, at)
  if (!resolved.ok) return resolved
  const entry = entryAt(world.sql, 'view', view, resolved.version)
  if (entry === null) return absent(world, `there is no view ${view}`)
  const { text, since, digest } = entry
  if (text === null) return fail('corrupt', `view:${view} does not read back`)
  return {
    ok: true,
    version: resolved.version,
    since,
    digest: hex(digest),
    text: canonical({ view, ...JSON.parse(text), since }),
  }
}

export function showRowAt(world: World, name: string, key: string, at: At): Outcome<Shown> {
  const resolved = resolveAt(world, at)
  if (!resolved.ok) return resolved
  const table = tableAt(world.sql, name, resolved.version)
  if (table === null) return absent(world, `there is no table ${name}`)
  const entry = entryAt(world.sql, 'row', `${name}/${key}`, resolved.version)
  if (entry === null) return absent(world, `there is no row ${key} in ${name}`)
  if (entry.text === null) return noValue(entry, `row:${name}/${key}`)
  return {
    ok: true,
    version: resolved.version,
    since: entry.since,
    digest: hex(entry.digest),
    text: showRow(table, key, entry.since, entry.text),
  }
}

function absent(world: World, detail: string): Failure {
  return fail('not_found', detail, { head: world.head.version })
}

interface Term {
  column: Column
  sql: string
  descending: boolean
}

/** Where a page ended: at which version, at which values of the columns it is ordered by, at which row. */
type Place = [version: number, values: Json[], key: string]

/**
 * A page of rows. All pages of one list speak of the version of the first, so that a row that changes between two pages is
 * neither lost nor shown twice.
 */
export function listRows(world: World, query: RowsQuery): Outcome<PageRead> {
  const place = readPlace(query.cursor)
  if (place === 'bad') return fail('invalid', 'this is no cursor of this list', { pointer: '/cursor' })
  const resolved = resolveAt(world, place === null ? query.at : { version: place[0] })
  if (!resolved.ok) return resolved
  const { version } = resolved
  const table = tableAt(world.sql, query.table, version)
  if (table === null) return absent(world, `there is no table ${query.table}`)
  const select = selected(table, query.select)
  if ('code' in select) return select
  const order = ordered(table, query.order)
  if ('code' in order) return order
  if (place !== null && place[1].length !== order.terms.length)
    return fail('invalid', 'this is no cursor of this list', { pointer: '/cursor' })
  const filter = compileFilter(JSON.parse(query.where ?? '{}'), resolveIn(table), 1, '/where')
  if (!filter.ok) return filter
  const bounds =
    place === null ? [] : [...place[1].map((v) => (typeof v === 'boolean' ? Number(v) : v)), place[2]]
  const values = order.terms.map(({ sql }, i) => `${sql} AS o${i}`)
  const statement = `SELECT ${['substr(key, ?2) AS key', 'since', 'json(value) AS text', ...values].join(', ')}
    FROM (${rowsAt(query.table, version === world.head.version ? null : version, 'r')})
    WHERE value IS NOT NULL AND json_array_length(?1) >= 0 AND ${filter.sql} ${place === null ? '' : `AND ${after(order.terms)}`}
    ORDER BY ${[...order.terms.map(({ sql, descending }) => `${sql}${descending ? ' DESC' : ''}`), 'key'].join(', ')}
    LIMIT ${query.limit + 1}`
  const start = query.table.length + 2
  // The bounds are numbers and texts: only columns of scalar types order rows.
  const params = [filter.param, start, ...bounds] as SqlStorageValue[]
  const rows = world.sql.exec<{ key: string; since: number; text: Canonical }>(statement, ...params)
  const builder = new PageBuilder(query.limit)
  for (const row of each(rows)) {
    const { key, since, text } = row
    const ends = order.terms.map((_, i) => Reflect.get(row, `o${i}`))
    const position = JSON.stringify([version, ends, `${query.table}/${key}`])
    if (!builder.add(position, showRow(table, key, since, text, select.columns))) break
  }
  return { ok: true, ...builder.page(version) }
}

function readPlace(cursor: string | null): Place | null | 'bad' {
  if (cursor === null) return null
  try {
    const place: unknown = JSON.parse(cursor)
    if (!Array.isArray(place) || place.length !== 3) return 'bad'
    const [version, values, key] = place
    const plain = (v: unknown) => v === null || typeof v === 'string' || typeof v === 'number'
    if (
      !Number.isSafeInteger(version) ||
      !Array.isArray(values) ||
      !values.every(plain) ||
      typeof key !== 'string'
    )
      return 'bad'
    return [version, values, key]
  } catch {
    return 'bad'
  }
}

function selected(table: Table, names: string[] | null): { columns: Column[] } | Failure {
  if (names === null) return { columns: [...table.columns] }
  const columns: Column[] = []
  for (const [i, name] of names.entries()) {
    const column = columnNamed(table, name)
    if (column === undefined)
      return fail('invalid', `there is no column ${name}`, { pointer: `/select/${i}` })
    columns.push(column)
  }
  return { columns }
}

function ordered(table: Table, order: readonly string[]): { terms: Term[] } | Failure {
  const terms: Term[] = []
  for (const [i, name] of order.entries()) {
    const descending = name.startsWith('-')
    const column = columnNamed(table, descending ? name.slice(1) : name)
    const pointer = `/order/${i}`
    if (column === undefined) return fail('invalid', `there is no column ${name}`, { pointer })
    if (!isScalar(column.type)) return fail('invalid', `a ${column.type} column orders nothing`, { pointer })
    terms.push({ column, sql: `(${columnSql(column)})`, descending })
  }
  return { terms }
}

/** True of rows that come after the bounds `?3, ?4, …`. No value comes before every value. */
function after(terms: readonly Term[], i = 0): string {
  const bound = `?${i + 3}`
  const term = terms[i]
  if (term === undefined) return `key > ${bound}`
  const { sql, descending } = term
  const beyond = descending
    ? `(${bound} IS NOT NULL AND (${sql} IS NULL OR ${sql} < ${bound}))`
    : `(${sql} IS NOT NULL AND (${bound} IS NULL OR ${sql} > ${bound}))`
  return `(${beyond} OR (${sql} IS ${bound} AND ${after(terms, i + 1)}))`
}
