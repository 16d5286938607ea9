// A table as SQL: where its rows are at a version, and what its columns are made of. Filters, lists and the catalog's SQL all
// read rows through this.

import { canonical, type Json } from '../../protocol/canonical.ts'
import type { Operand, Resolve } from '../../protocol/filter-sql.ts'
import { isScalar } from '../../protocol/tables.ts'
import { quoteText } from '../query/tokens.ts'
import { adaptTo } from './cells.ts'
import type { Column, Table } from './definition.ts'

/** `kind` and `key` of a table's rows in the head. Its indexes are partial over just these words. */
export function rowsOf(name: string): string {
  // A table's name has letters, digits and _ alone, and `0` is the character after `/`.
  return `kind = 'row' AND key >= '${name}/' AND key < '${name}0'`
}

/**
 * Rows as a version saw them, `key, since, value`.
 *
 * @param version null for the head
 * @param alias names the tables in the database's plan, where the query's cost is read from
 */
export function rowsAt(name: string, version: number | null, alias: string): string {
  if (version === null) return `SELECT key, since, value FROM main.entries AS ${alias} WHERE ${rowsOf(name)}`
  return `SELECT key, since, value FROM main.entries AS ${alias} WHERE ${rowsOf(name)} AND since <= ${version}
    UNION ALL SELECT key, since, value FROM main.past AS ${alias}_past WHERE ${rowsOf(name)} AND since <= ${version} AND until > ${version}`
}

/** A column of a row: scalars as themselves, anything else as JSON text. */
export function columnSql(column: Column, value = 'value'): string {
  const path = pathOf(column)
  const arrow = isScalar(column.type) ? '->>' : '->'
  const read = `${value} ${arrow} '${path}'`
  const plain = arrow === '->' ? `nullif(${read}, 'null')` : read
  if (column.fill === undefined) return plain
  return `CASE WHEN json_type(${value}, '${path}') IS NULL THEN ${literal(column, column.fill)} ELSE ${plain} END`
}

/** The expression an index on the column is made of, to the letter. */
export function indexedSql(column: Column): string {
  return columnSql(column)
}

function pathOf({ id }: Column): string {
  // An id is a name, or a name with `~` and a number.
  return `$."${id}"`
}

function literal(column: Column, value: Json): string {
  if (value === null) return 'NULL'
  if (isScalar(column.type)) {
    if (typeof value === 'number') return String(value)
    if (typeof value === 'boolean') return value ? '1' : '0'
    return quoteText(String(value))
  }
  return quoteText(canonical(value))
}

const holds = {
  string: 'text',
  timestamp: 'text',
  date: 'text',
  uuid: 'text',
  int: 'number',
  float: 'number',
  bool: 'bool',
} as const

/** Names in filters over a table's rows. */
export function resolveIn(table: Pick<Table, 'columns'>): Resolve {
  return ([name, ...rest]): Operand | null => {
    const column = table.columns.find((one) => one.name === name)
    if (column === undefined) return null
    const { type } = column
    if (isScalar(type)) {
      if (rest.length > 0) return null
      return {
        is: 'scalar',
        sql: `(${columnSql(column)})`,
        holds: holds[type],
        adapt: (value) => adaptTo(column, value),
      }
    }
    const place: Operand =
      column.fill === undefined
        ? { is: 'json', document: 'value', path: [column.id, ...rest] }
        : { is: 'json', document: `(${columnSql(column)})`, path: rest }
    return rest.length === 0 ? { ...place, nullable: true } : place
  }
}
