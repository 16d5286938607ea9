// A table's definition as it is kept. A column has an id that never changes, the name it was made with: rows are kept under
// ids, so a rename, an addition or a drop touches the definition alone, and each version's rows are read with the definition
// of that version.

import { type Canonical, canonical, type Json } from '../../protocol/canonical.ts'
import type { ColumnType, Computed } from '../../protocol/tables.ts'
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

/** A computed column's rule, with its inputs by id; `revision` counts its changes. */
export type KeptComputed = (
  | { expression: string }
  | { embed: string[] }
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

export function readTable(name: string, text: Canonical, since: number): Table {
  // What `keepTable` wrote.
  const kept: Kept = JSON.parse(text)
  const columns = Object.entries(kept.columns)
    .map(([id, column]) => ({ id, ...column }))
    .sort((a, b) => a.position - b.position || (a.id < b.id ? -1 : 1))
  const key = columns.find((column) => column.id === kept.key) ?? null
  return { name, columns, key, dropped: kept.dropped ?? [], since }
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
  if ('embed' in computed) return { embed: computed.embed.map(name) }
  if ('endpoint' in computed) return { ...computed, inputs: computed.inputs.map(name) }
  return computed
}
