// A table's definition as it is kept. A column has an id that never changes, the name it was made with: rows are kept under
// ids, so a rename, an addition or a drop touches the definition alone, and each version's rows are read with the definition
// of that version.

import { type Canonical, canonical, type Json } from '../../protocol/canonical.ts'
import { type ColumnType, type Computed, columnName, columnType, tableName } from '../../protocol/tables.ts'
import { entryAt } from '../store.ts'

export interface Column {
  id: string
  name: string
  position: number
  type: ColumnType
  required?: true
  default?: Json
  unique?: true
  index?: true
  schema?: { [key: string]: Json }
  computed?: KeptComputed
  /** What rows from before the column was added hold in it. */
  fill?: Json
}

export type EmbedProvider = 'static' | 'workers-ai' | 'openai-compatible'

/** A computed column's rule, with its inputs by id; `revision` counts its changes. */
export type KeptComputed = (
  | { expression: string }
  | { embed: string[]; provider: EmbedProvider; model?: string }
  | { endpoint: string; inputs: string[] }
) & { revision: number }

export interface Table {
  name: string
  columns: readonly Column[]
  /** The column that names the row, or null where rows get a name of their own. */
  key: Column | null
  /** Ids of columns that were dropped: rows may still hold them, so no later column may take one. */
  dropped: readonly string[]
  since: number
}

interface Kept {
  columns: { [id: string]: Omit<Column, 'id'> }
  key?: string
  dropped?: string[]
}

/** The table as a version saw it, or null. */
export function tableAt(sql: SqlStorage, name: string, version: number): Table | null {
  const entry = entryAt(sql, 'table', name, version)
  return entry?.text == null ? null : readTable(name, entry.text, entry.since)
}

/**
 * A kept definition; null for what is none. An import or a merge may bring one that was never checked by `table.define`, and
 * its ids and names become part of SQL.
 */
export function readTable(name: string, text: Canonical, since: number): Table | null {
  const kept: Partial<Kept> = JSON.parse(text)
  if (!tableName.safeParse(name).success || !isPlain(kept) || !isPlain(kept.columns)) return null
  const columns = Object.entries(kept.columns).map(([id, column]): Column => ({ ...column, id }))
  if (!columns.every(isColumn)) return null
  columns.sort((a, b) => a.position - b.position || (a.id < b.id ? -1 : 1))
  const key = columns.find((column) => column.id === kept.key) ?? null
  const dropped = Array.isArray(kept.dropped) ? kept.dropped : []
  return { name, columns, key, dropped, since }
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isColumn({ id, name, position, type, computed, schema }: Column): boolean {
  return (
    /^[A-Za-z_][A-Za-z0-9_]{0,62}(~\d{1,9})?$/.test(id) &&
    columnName.safeParse(name).success &&
    columnType.safeParse(type).success &&
    Number.isInteger(position) &&
    (schema === undefined || isPlain(schema)) &&
    (computed === undefined || isRule(computed))
  )
}

function isRule(computed: KeptComputed): boolean {
  if (!isPlain(computed) || !Number.isInteger(computed.revision)) return false
  const ids = 'embed' in computed ? computed.embed : 'endpoint' in computed ? computed.inputs : []
  const text =
    'endpoint' in computed ? computed.endpoint : 'expression' in computed ? computed.expression : ''
  return Array.isArray(ids) && typeof text === 'string'
}

export function keepTable({ columns, key, dropped }: Pick<Table, 'columns' | 'key' | 'dropped'>): Canonical {
  const kept: Kept = {
    columns: Object.fromEntries(columns.map(({ id, ...column }) => [id, column])),
    ...(key === null ? {} : { key: key.id }),
    ...(dropped.length === 0 ? {} : { dropped: [...dropped] }),
  }
  return canonical(kept)
}

/** Names in SQL know no case, so neither do ours where two are compared. */
export function sameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}

export function columnNamed(table: Pick<Table, 'columns'>, name: string): Column | undefined {
  return table.columns.find((column) => column.name === name)
}

/** The table as `GET …/tables/{t}` shows it. */
export function showTable(table: Table): object {
  return {
    table: table.name,
    columns: Object.fromEntries(table.columns.map((column) => [column.name, showColumn(table, column)])),
    key: table.key?.name ?? null,
    since: table.since,
  }
}

function showColumn(table: Table, { id: _i, name: _n, position: _p, fill: _f, computed, ...rest }: Column) {
  return computed === undefined ? rest : { ...rest, computed: showComputed(table, computed) }
}

function showComputed(table: Table, { revision: _, ...computed }: KeptComputed): Computed {
  const name = (id: string) => table.columns.find((column) => column.id === id)?.name ?? id
  if ('embed' in computed) return { ...computed, embed: computed.embed.map(name) }
  if ('endpoint' in computed) return { ...computed, inputs: computed.inputs.map(name) }
  return computed
}
