// One row: from what a client sends to what is kept, and from there to what is shown. Kept under column ids, with the state
// of its computed cells under `$`, which no column can be called.

import { type Canonical, canonical, type Json } from '../../protocol/canonical.ts'
import { isMedia } from '../../protocol/tables.ts'
import { cellOf } from './cells.ts'
import { type Column, columnNamed, type Table } from './definition.ts'

export type Kept = { [id: string]: Json }

/** Where a computed cell stands, when it is not simply there. `revision` is that of the rule it was computed by. */
export interface CellState {
  state?: 'pending' | 'error'
  error?: { type: string; message: string }
  revision?: number
}

export const cellStates = '$'

/** The blobs that a row's media columns name, in one place for whoever must know what the world refers to. */
const rowBlobs = '@'

/** Brings the row's list of blobs up to date; the last thing before it is kept. */
export function noteBlobs(kept: Kept, table: Table): void {
  const media = table.columns.filter(({ type }) => isMedia(type))
  if (media.length === 0) return
  const blobs = media.flatMap((column) => {
    const cell = cellIn(kept, column)
    return typeof cell === 'object' && cell !== null && !Array.isArray(cell) ? [cell.blob ?? null] : []
  })
  if (blobs.length === 0) delete kept[rowBlobs]
  else kept[rowBlobs] = [...new Set(blobs)]
}

/** What is wrong in a row, and in which column. */
export class BadCell extends Error {
  readonly column: string
  constructor(column: string, message: string) {
    super(message)
    this.column = column
  }
}

/**
 * The kept form of a row's values.
 *
 * @param before the row as it is, when it is changed
 * @throws {BadCell}
 */
export function keepValues(
  sql: SqlStorage,
  table: Table,
  values: { [name: string]: Json },
  before?: Kept,
): Kept {
  const kept: Kept = before === undefined ? {} : { ...before }
  for (const name of Object.keys(values)) {
    const column = columnNamed(table, name)
    if (column === undefined)
      throw new BadCell(name, `the table ${table.name} has no column ${JSON.stringify(name)}`)
    if (column.computed !== undefined) throw new BadCell(name, 'this column is computed')
  }
  for (const column of table.columns) {
    if (column.computed !== undefined) continue
    const given = Object.hasOwn(values, column.name) ? values[column.name] : undefined
    if (given === undefined && before !== undefined) continue
    keepCell(sql, kept, column, given === undefined ? (column.default ?? null) : given)
  }
  return kept
}

function keepCell(sql: SqlStorage, kept: Kept, column: Column, value: Json): void {
  if (value === null) {
    if (column.required) throw new BadCell(column.name, 'a value is required')
    // Absent is null, but where an absent one stands for the column's first default.
    if (column.fill === undefined) delete kept[column.id]
    else kept[column.id] = null
    return
  }
  const cell = cellOf(sql, column, value)
  if ('problem' in cell) throw new BadCell(column.name, cell.problem)
  kept[column.id] = cell.value
}

/** What a column holds in a kept row. */
export function cellIn(kept: Kept, column: Column): Json {
  const value = Object.hasOwn(kept, column.id) ? kept[column.id] : column.fill
  return value ?? null
}

export function statesIn(kept: Kept): { [id: string]: CellState } {
  // What `setState` wrote.
  return (Object.hasOwn(kept, cellStates) ? kept[cellStates] : {}) as { [id: string]: CellState }
}

export function setState(kept: Kept, column: Column, state: CellState): void {
  const revision = column.computed?.revision ?? 0
  const full: CellState = revision === 0 ? state : { ...state, revision }
  const states = { ...statesIn(kept) }
  delete states[column.id]
  if (Object.keys(full).length > 0) states[column.id] = full
  if (Object.keys(states).length === 0) delete kept[cellStates]
  // Plain members all.
  else kept[cellStates] = states as unknown as Json
}

/** True for a computed cell that its column's present rule did not make. */
export function isOutdated(kept: Kept, column: Column): boolean {
  const { state, revision = 0 } = statesIn(kept)[column.id] ?? {}
  return state === 'pending' || revision !== (column.computed?.revision ?? 0)
}

/** The row as a client sees it: every column, null where there is no value, and what is to be said of its computed cells. */
export function showRow(
  table: Table,
  key: string,
  since: number,
  text: Canonical,
  select?: readonly Column[],
): Canonical {
  const kept: Kept = JSON.parse(text)
  const shown: Kept = { $key: key, $since: since }
  const notes: Kept = {}
  for (const column of select ?? table.columns) {
    const note = noteOf(kept, column)
    shown[column.name] = cellIn(kept, column)
    if (note !== null) notes[column.name] = note
  }
  if (Object.keys(notes).length > 0) shown.$cells = notes
  return canonical(shown)
}

function noteOf(kept: Kept, column: Column): Json {
  if (column.computed === undefined) return null
  const { state, error } = statesIn(kept)[column.id] ?? {}
  if (state === 'error' && error !== undefined) return { state, error: { ...error } }
  if (!isOutdated(kept, column)) return null
  return { state: cellIn(kept, column) === null ? 'pending' : 'stale' }
}
