// Rows: inserted, changed and taken away, one by one or as a filter says; all of an operation or nothing of it.

import { canonical, type Json } from '../../protocol/canonical.ts'
import { compileFilter } from '../../protocol/filter-sql.ts'
import { limits } from '../../protocol/limits.ts'
import { keyProblem } from '../../protocol/names.ts'
import { each } from '../each.ts'
import type { Table } from '../tables/definition.ts'
import { columnNamed } from '../tables/definition.ts'
import { computeCells, type Derived } from '../tables/derive.ts'
import { fitIndexes, rowWith } from '../tables/indexes.ts'
import { freshKeys } from '../tables/keys.ts'
import { resolveIn, rowsOf } from '../tables/relation.ts'
import { BadCell, cellIn, type Kept, keepValues, noteBlobs, setState, statesIn } from '../tables/row.ts'
import { Refusal, type Transaction } from '../transaction.ts'
import type { Applied, Handlers, OperationOf } from './kind.ts'
import { requireTable } from './table.ts'

const subject = (op: { table: string; key?: string | undefined }) =>
  op.key === undefined ? null : ({ kind: 'row', key: `${op.table}/${op.key}` } as const)

export const rowHandlers: Handlers<'row.insert' | 'row.update' | 'row.delete' | 'row.recompute'> = {
  'row.insert': { apply: insert, subject: () => null },
  'row.update': { apply: update, subject },
  'row.delete': { apply: remove, subject },
  'row.recompute': { apply: recompute, subject: () => null },
}

interface Draft {
  key: string
  kept: Kept
  before?: Kept
  /** Where the row stands in the request, for errors. */
  at: string
}

function insert(tx: Transaction, op: OperationOf<'row.insert'>): Applied {
  const table = requireTable(tx, op.table)
  const rows: unknown[] = JSON.parse(op.rows)
  if (rows.length > limits.rows)
    throw new Refusal('too_large', `one insert takes ${limits.rows} rows`, {
      limit: limits.rows,
      pointer: '/rows',
    })
  const names = freshKeys(tx.at)
  const drafts = new Map<string, Draft>()
  for (const [i, row] of rows.entries()) {
    const at = `/rows/${i}`
    if (typeof row !== 'object' || row === null || Array.isArray(row))
      throw new Refusal('invalid', 'a row is an object of columns', { pointer: at })
    // What was parsed from JSON is JSON.
    const kept = checked(at, () => keepValues(tx.world.sql, table, row as { [name: string]: Json }))
    const key = table.key === null ? names() : keyOf(table, kept, at)
    if (drafts.has(key) && op.on_conflict === 'ignore') continue
    if (drafts.has(key) && op.on_conflict === 'error') throw taken(table, at, `two rows have the key ${key}`)
    drafts.set(key, { key, kept, at })
  }
  const settled = settle(tx, table, [...drafts.values()], op.on_conflict)
  return write(tx, table, settled)
}

/** What becomes of rows whose key is there already. */
function settle(tx: Transaction, table: Table, drafts: Draft[], on: 'error' | 'replace' | 'ignore'): Draft[] {
  if (table.key === null) return drafts
  const present = new Set(
    tx.world.sql
      .exec<{ key: string }>(
        "SELECT key FROM entries WHERE kind = 'row' AND key IN (SELECT ?1 || value FROM json_each(?2))",
        `${table.name}/`,
        JSON.stringify(drafts.map(({ key }) => key)),
      )
      .toArray()
      .map(({ key }) => key.slice(table.name.length + 1)),
  )
  if (present.size === 0 || on === 'replace') return drafts
  if (on === 'ignore') return drafts.filter(({ key }) => !present.has(key))
  const first = drafts.find(({ key }) => present.has(key))
  throw taken(table, first?.at ?? '/rows', `there is a row ${first?.key}`)
}

function taken(table: Table, at: string, detail: string): Refusal {
  return new Refusal('exists', detail, { pointer: table.key === null ? at : `${at}/${table.key.name}` })
}

function update(tx: Transaction, op: OperationOf<'row.update'>): Applied {
  const table = requireTable(tx, op.table)
  const set: { [name: string]: Json } = JSON.parse(op.set)
  const drafts = found(tx, table, op).map(({ key, before }): Draft => {
    const kept = checked('/set', () => keepValues(tx.world.sql, table, set, before))
    if (table.key !== null && cellIn(kept, table.key) !== cellIn(before, table.key))
      throw new Refusal('invalid', 'the key of a row does not change', { pointer: `/set/${table.key.name}` })
    return { key, kept, before, at: '/set' }
  })
  if (drafts.length === 0) return nothing(tx, op)
  return write(tx, table, drafts)
}

function remove(tx: Transaction, op: OperationOf<'row.delete'>): Applied {
  const table = requireTable(tx, op.table)
  const keys = keysFound(tx, table, op)
  if (keys.length === 0) return nothing(tx, op)
  for (const key of keys) tx.remove('row', `${table.name}/${key}`)
  return { result: { count: keys.length, keys } }
}

/** Marks cells as pending again. What is there stays until the new value comes. */
function recompute(tx: Transaction, op: OperationOf<'row.recompute'>): Applied {
  const table = requireTable(tx, op.table)
  const column = columnNamed(table, op.column)
  if (column?.computed === undefined)
    throw new Refusal('invalid', `${op.column} is no computed column`, { pointer: '/column' })
  const failed = op.only === 'failed'
  const rows = rowsWhere(tx, table, '1', []).filter(
    ({ before }) => !failed || statesIn(before)[column.id]?.state === 'error',
  )
  if (rows.length === 0) return nothing(tx, op)
  for (const { key, before } of rows) {
    const kept = { ...before }
    setState(kept, column, { state: 'pending' })
    tx.put('row', `${table.name}/${key}`, canonical(kept))
    due(tx, table, key, column.id)
  }
  return { result: { count: rows.length, keys: rows.map(({ key }) => key) } }
}

function nothing(tx: Transaction, op: { table: string; key?: string | undefined; must?: true }): Applied {
  if (op.must) throw new Refusal('not_found', `there is no row ${op.key ?? ''} in ${op.table}`)
  tx.untouched(op.key === undefined ? `table:${op.table}` : `row:${op.table}/${op.key}`)
  return { result: { count: 0, keys: [] } }
}

type Found = { key: string; before: Kept }

function found(
  tx: Transaction,
  table: Table,
  op: { key?: string | undefined; where?: string | undefined },
): Found[] {
  const { condition, params } = conditionOf(table, op)
  return rowsWhere(tx, table, condition, params)
}

/** The same for what needs their names alone. */
function keysFound(
  tx: Transaction,
  table: Table,
  op: { key?: string | undefined; where?: string | undefined },
): string[] {
  const { condition, params } = conditionOf(table, op)
  return tx.world.sql
    .exec<{ key: string }>(`SELECT key ${fromRows(table, condition)}`, ...params)
    .toArray()
    .map(({ key }) => key.slice(table.name.length + 1))
}

function conditionOf(
  table: Table,
  op: { key?: string | undefined; where?: string | undefined },
): { condition: string; params: string[] } {
  if (op.key !== undefined) return { condition: 'key = ?1', params: [`${table.name}/${op.key}`] }
  const filter = compileFilter(JSON.parse(op.where ?? '{}'), resolveIn(table), 1, '/where')
  if (!filter.ok) throw new Refusal(filter.code, filter.detail, { pointer: filter.pointer ?? '/where' })
  // A filter without a value has no parameter.
  return { condition: filter.sql, params: filter.sql.includes('?1') ? [filter.param] : [] }
}

function fromRows(table: Table, condition: string): string {
  return `FROM entries WHERE ${rowsOf(table.name)} AND value IS NOT NULL AND ${condition} ORDER BY key`
}

/** Rows with their values, all at once; more than a commit may bring cannot be held. */
function rowsWhere(tx: Transaction, table: Table, condition: string, params: string[]): Found[] {
  const rows: Found[] = []
  let chars = 0
  const found = tx.world.sql.exec<{ key: string; text: string }>(
    `SELECT key, json(value) AS text ${fromRows(table, condition)}`,
    ...params,
  )
  for (const { key, text } of each(found)) {
    chars += text.length
    if (chars > limits.commitBytes)
      throw new Refusal(
        'too_large',
        `the rows have more than ${limits.commitBytes} characters; take some at a time`,
        {
          limit: limits.commitBytes,
          pointer: '/where',
        },
      )
    rows.push({ key: key.slice(table.name.length + 1), before: JSON.parse(text) })
  }
  return rows
}

function write(tx: Transaction, table: Table, drafts: readonly Draft[]): Applied {
  const work = computeCells(tx.world.sql, table, drafts)
  checkUnique(tx, table, drafts)
  const rows = drafts.map(({ key, kept, at }) => {
    noteBlobs(kept, table)
    const text = canonical(kept)
    if (text.length * 3 > limits.rowBytes && Buffer.byteLength(text) > limits.rowBytes)
      throw new Refusal('too_large', `a row has at most ${limits.rowBytes} bytes`, {
        limit: limits.rowBytes,
        pointer: at,
      })
    return { key: `${table.name}/${key}`, text }
  })
  tx.putAll('row', rows)
  for (const [i, { key }] of drafts.entries()) {
    for (const column of work[i] ?? ([] as Derived[])) due(tx, table, key, column.id)
  }
  return { result: { count: drafts.length, keys: drafts.map(({ key }) => key) } }
}

function due(tx: Transaction, table: Table, key: string, column: string): void {
  tx.world.sql.exec(
    'INSERT OR REPLACE INTO cells_due (tbl, key, col, tries, due) VALUES (?, ?, ?, 0, 0)',
    table.name,
    key,
    column,
  )
}

/** No two rows have one value in a unique column: neither two of these nor one of these and one that is there. */
function checkUnique(tx: Transaction, table: Table, drafts: readonly Draft[]): void {
  const columns = table.columns.filter(({ unique }) => unique)
  if (columns.length === 0) return
  const { sql } = tx.world
  // Cheap when they fit, and the look-ups below are only as fast as the index.
  fitIndexes(sql, table.name, table)
  const mine = new Map(drafts.map((draft) => [`${table.name}/${draft.key}`, draft]))
  for (const column of columns) {
    const seen = new Map<Json, string>()
    for (const { key, kept, at } of drafts) {
      const value = cellIn(kept, column)
      if (value === null) continue
      const pointer = `${at}/${column.name}`
      const other = seen.get(value)
      if (other !== undefined)
        throw new Refusal('exists', `${column.name} is unique, and two rows would have the same`, { pointer })
      seen.set(value, key)
      const stored = typeof value === 'boolean' ? Number(value) : value
      if (typeof stored === 'object') continue
      const holder = rowWith(sql, table, column, stored, `${table.name}/${key}`)
      // A row that this very operation changes gives its value up, or keeps it and was seen above.
      if (holder === null || (mine.has(holder) && cellIn(mine.get(holder)?.kept ?? {}, column) !== value))
        continue
      throw new Refusal(
        'exists',
        `${column.name} is unique, and the row ${holder.slice(table.name.length + 1)} has it`,
        { pointer },
      )
    }
  }
}

function checked<T>(at: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof BadCell)) throw error
    const column = error.column.replaceAll('~', '~0').replaceAll('/', '~1')
    throw new Refusal('invalid', error.message, { pointer: `${at}/${column}` })
  }
}

function keyOf(table: Table, kept: Kept, at: string): string {
  const value = table.key === null ? null : cellIn(kept, table.key)
  const pointer = `${at}/${table.key?.name ?? ''}`
  if (value === null) throw new Refusal('invalid', 'the key needs a value', { pointer })
  const key = String(value)
  const problem = key === '' ? 'a key must not be empty' : keyProblem(`${table.name}/${key}`)
  if (problem !== null) throw new Refusal('invalid', problem, { pointer })
  return key
}
