// Computed columns inside a commit: expressions are evaluated at once, in the same version; what a function derives is marked
// as pending and noted as work, to be done after the commit.

import { canonical, type Json } from '../../protocol/canonical.ts'
import { cellOf } from './cells.ts'
import type { Column, KeptComputed, Table } from './definition.ts'
import { evaluate, inputsOf } from './expression.ts'
import { cellIn, type Kept, setState } from './row.ts'

export type Derived = Column & { computed: Exclude<KeptComputed, { expression: string }> }
type Expressed = Column & { computed: KeptComputed & { expression: string } }

export function isDerived(column: Column): column is Derived {
  return column.computed !== undefined && !('expression' in column.computed)
}

function isExpressed(column: Column): column is Expressed {
  return column.computed !== undefined && 'expression' in column.computed
}

/** Ids of the columns that a computed column reads. */
export function inputIds(table: Pick<Table, 'columns'>, column: Column): string[] {
  const { computed } = column
  if (computed === undefined) return []
  if ('embed' in computed) return computed.embed
  if ('endpoint' in computed) return computed.inputs
  return inputsOf(computed.expression, table.columns).map(({ id }) => id)
}

/**
 * Brings the computed cells of rows up to date.
 *
 * @param before what a row was, where it was: a derived cell whose inputs are as they were stays as it is
 * @returns for each row, the derived columns that are now to be computed
 */
export function computeCells(
  sql: SqlStorage,
  table: Table,
  rows: readonly { kept: Kept; before?: Kept | undefined }[],
): Derived[][] {
  for (const column of table.columns.filter(isExpressed)) {
    const texts = rows.map(({ kept }) => JSON.stringify(kept))
    const values = evaluate(sql, table, column, column.computed.expression, texts)
    for (const [i, { kept }] of rows.entries()) {
      const result = values[i] ?? { value: null }
      setCell(sql, kept, column, result, 'expression')
    }
  }
  const derived = table.columns.filter(isDerived)
  if (derived.length === 0) return rows.map(() => [])
  return rows.map(({ kept, before }) => derived.filter((column) => mark(table, column, kept, before)))
}

/** Puts a result, or what went wrong, into a computed cell. */
export function setCell(
  sql: SqlStorage,
  kept: Kept,
  column: Column,
  result: { value: Json } | { problem: string },
  type: string,
): void {
  const cell = 'value' in result && result.value !== null ? cellOf(sql, column, result.value) : result
  if ('problem' in cell) {
    delete kept[column.id]
    const kind = 'value' in result ? 'type' : type
    setState(kept, column, { state: 'error', error: { type: kind, message: cell.problem.slice(0, 500) } })
    return
  }
  if (cell.value === null) delete kept[column.id]
  else kept[column.id] = cell.value
  setState(kept, column, {})
}

function mark(table: Table, column: Derived, kept: Kept, before: Kept | undefined): boolean {
  const inputs = inputIds(table, column)
  const columns = table.columns.filter(({ id }) => inputs.includes(id))
  const read = (row: Kept) => canonical(columns.map((one) => cellIn(row, one)))
  if (before !== undefined && read(before) === read(kept)) return false
  delete kept[column.id]
  // Of nothing there is nothing to compute.
  const empty = columns.every((one) => cellIn(kept, one) === null)
  setState(kept, column, empty ? {} : { state: 'pending' })
  return !empty
}
