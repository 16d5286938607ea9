// Indexes on columns: partial ones over the rows of one table in the head. They are made from the definition and never hold
// anything of their own, so after a fork, an import or a revert they are simply made to fit again.
//
// None is unique for SQLite: uniqueness is checked when a row is written, so that a revert or a merge, which copy rows as they
// were, cannot fail half-way on an index.

import type { Canonical } from '../../protocol/canonical.ts'
import { quoteName } from '../query/tokens.ts'
import type { World } from '../world.ts'
import { type Column, readTable, type Table } from './definition.ts'
import { indexedSql, rowsOf } from './relation.ts'

/** Makes a table's indexes what its definition says. */
export function fitIndexes(sql: SqlStorage, name: string, table: Table | null): void {
  const wanted = new Map(
    (table?.columns ?? []).filter(isIndexed).map((column) => [indexName(name, column), column]),
  )
  for (const { index, text } of indexesOf(sql, name)) {
    const column = wanted.get(index)
    // A column of the same id may read differently now.
    if (column !== undefined && text === create(name, column)) wanted.delete(index)
    // One that cannot go now costs its upkeep, and stands in the way of nothing but a faster one.
    else if (!dropIndex(sql, index)) wanted.delete(index)
  }
  for (const column of wanted.values()) sql.exec(create(name, column))
}

/** Answers false while a statement is open somewhere: a query that was broken off stays so until it is collected. */
function dropIndex(sql: SqlStorage, index: string): boolean {
  try {
    sql.exec(`DROP INDEX ${quoteName(index)}`)
    return true
  } catch (error) {
    if (error instanceof Error && /SQLITE_LOCKED|is locked/.test(error.message)) return false
    throw error
  }
}

function isIndexed(column: Column): boolean {
  return column.unique === true || column.index === true
}

function indexName(name: string, column: Column): string {
  return `row ${name}.${column.id}`
}

function create(name: string, column: Column): string {
  return `CREATE INDEX ${quoteName(indexName(name, column))} ON entries (${indexedSql(column)}) WHERE ${rowsOf(name)}`
}

function indexesOf(sql: SqlStorage, name: string | null): { index: string; text: string }[] {
  return sql
    .exec<{ index: string; text: string }>(
      `SELECT name AS "index", sql AS text FROM sqlite_master WHERE type = 'index' AND substr(name, 1, length(?1)) = ?1`,
      name === null ? 'row ' : `row ${name}.`,
    )
    .toArray()
}

/** Another row that has the value in a unique column, or null. Relies on the column's index. */
export function rowWith(
  sql: SqlStorage,
  table: Table,
  column: Column,
  value: SqlStorageValue,
  not: string,
): string | null {
  return (
    sql
      .exec<{ key: string }>(
        `SELECT key FROM entries WHERE ${rowsOf(table.name)} AND ${indexedSql(column)} = ? AND key <> ? LIMIT 1`,
        value,
        not,
      )
      .toArray()[0]?.key ?? null
  )
}

/**
 * Makes everything that is derived from entries fit them again: indexes, and the work that computed columns wait for. To be
 * called in the step that changed entries other than through their operations.
 */
export function rebuildIndexes(world: World): void {
  const { sql } = world
  const tables = sql
    .exec<{ key: string; text: string; since: number }>(
      `SELECT key, json(value) AS text, since FROM entries WHERE kind = 'table' AND value IS NOT NULL`,
    )
    .toArray()
    // What was stored is canonical.
    .map(({ key, text, since }) => readTable(key, text as Canonical, since))
    .filter((table) => table !== null)
  const names = new Set(tables.map(({ name }) => name))
  for (const { index } of indexesOf(sql, null)) {
    if (!names.has(index.slice(4, index.indexOf('.')))) dropIndex(sql, index)
  }
  sql.exec('DELETE FROM cells_due')
  for (const table of tables) {
    fitIndexes(sql, table.name, table)
    for (const column of table.columns.filter(({ computed }) => computed !== undefined))
      noteOutdated(sql, table, column)
  }
}

/** Notes every row whose cell of a column is pending or was made by an earlier rule. */
export function noteOutdated(sql: SqlStorage, table: Table, column: Column): void {
  sql.exec(
    `INSERT OR IGNORE INTO cells_due (tbl, key, col, tries, due)
     SELECT ?1, substr(key, length(?1) + 2), ?2, 0, 0 FROM entries
     WHERE ${rowsOf(table.name)} AND (value ->> ('$."$"."' || ?2 || '".state') = 'pending'
       OR coalesce(value ->> ('$."$"."' || ?2 || '".revision'), 0) <> ?3)`,
    table.name,
    column.id,
    column.computed?.revision ?? 0,
  )
}

export const tableTables = `
  -- Cells that wait for a function. Made of the rows; what is here and no longer pending there is dropped when its turn comes.
  CREATE TABLE cells_due (
    tbl TEXT NOT NULL,
    key TEXT NOT NULL,
    col TEXT NOT NULL,
    tries INTEGER NOT NULL,
    due INTEGER NOT NULL,
    PRIMARY KEY (tbl, key, col)
  ) STRICT, WITHOUT ROWID;
`
