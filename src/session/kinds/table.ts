// Tables: what columns there are. Defining, altering and dropping change one entry; rows follow only where a table goes.

import { staticModel } from '../../embed/static.ts'
import { canonical } from '../../protocol/canonical.ts'
import { limits } from '../../protocol/limits.ts'
import { type ColumnSpec, type ColumnType, isMedia, isScalar, vectorLength } from '../../protocol/tables.ts'
import { cellOf, schemaProblem } from '../tables/cells.ts'
import {
  type Column,
  columnNamed,
  type KeptComputed,
  keepTable,
  readTable,
  sameName,
  type Table,
} from '../tables/definition.ts'
import { expressionProblem, renameInExpression } from '../tables/expression.ts'
import { fitIndexes, noteOutdated } from '../tables/indexes.ts'
import { columnSql, rowsOf } from '../tables/relation.ts'
import { Refusal, type Transaction } from '../transaction.ts'
import type { Applied, Handlers, OperationOf } from './kind.ts'

const subject = (op: { table: string }) => ({ kind: 'table', key: op.table }) as const

export const tableHandlers: Handlers<'table.define' | 'table.alter' | 'table.drop'> = {
  'table.define': { apply: define, subject },
  'table.alter': { apply: alter, subject },
  'table.drop': { apply: drop, subject },
}

/** The table as it is now, or a refusal. */
export function requireTable(tx: Transaction, name: string): Table {
  const table = currentTable(tx, name)
  if (table === null) throw new Refusal('not_found', `there is no table ${name}`, { pointer: '/table' })
  return table
}

export function currentTable(tx: Transaction, name: string): Table | null {
  const entry = tx.get('table', name)
  return entry?.text == null ? null : readTable(name, entry.text, entry.since)
}

type Specs = { [name: string]: ColumnSpec | { type: ColumnType } }

/** Making a table that is there brings it to the definition where that loses nothing; what would lose is asked for by name. */
function define(tx: Transaction, op: OperationOf<'table.define'>): Applied {
  const before = currentTable(tx, op.table)
  if (before !== null) return redefine(tx, op, before)
  refuseTakenName(tx, op.table, 'table')
  const table: Table = { name: op.table, columns: [], key: null, dropped: [], since: tx.version }
  const columns = addColumns(tx, table, op.columns, '/columns', false)
  const key = columns.find(({ name }) => name === op.key) ?? null
  if (op.key !== undefined) checkKey(key)
  save(tx, { ...table, columns, key })
  return { result: {}, created: true }
}

function redefine(tx: Transaction, op: OperationOf<'table.define'>, before: Table): Applied {
  if ((op.key ?? null) !== (before.key?.name ?? null))
    throw new Refusal('exists', 'the table is there, and its key cannot change', { pointer: '/key' })
  const missing = before.columns.find(({ name }) => !Object.hasOwn(op.columns, name))
  if (missing !== undefined) {
    throw new Refusal(
      'exists',
      `the table is there, with a column ${missing.name}; drop or rename it by table.alter`,
      {
        pointer: '/columns',
      },
    )
  }
  const known = (name: string) => columnNamed(before, name) !== undefined
  const pick = (wanted: boolean) =>
    Object.fromEntries(Object.entries(op.columns).filter(([name]) => known(name) === wanted))
  const table = changeColumns(tx, before, pick(true), '/columns')
  const columns = addColumns(tx, table, pick(false), '/columns', true)
  const after = { ...table, columns }
  if (keepTable(after) === keepTable(before)) tx.untouched(`table:${op.table}`)
  else save(tx, after, before)
  return { result: {} }
}

/** In this order: rename, drop, add, change; so that a name that is given up can be taken again. */
function alter(tx: Transaction, op: OperationOf<'table.alter'>): Applied {
  const before = requireTable(tx, op.table)
  let table = renameColumns(before, op.rename ?? {})
  table = dropColumns(table, op.drop ?? [])
  table = { ...table, columns: addColumns(tx, table, op.add ?? {}, '/add', true) }
  table = changeColumns(tx, table, op.change ?? {}, '/change')
  if (keepTable(table) === keepTable(before)) tx.untouched(`table:${op.table}`)
  else save(tx, table, before)
  return { result: {} }
}

function drop(tx: Transaction, op: OperationOf<'table.drop'>): Applied {
  if (!tx.remove('table', op.table)) {
    if (op.must) throw new Refusal('not_found', `there is no table ${op.table}`)
    tx.untouched(`table:${op.table}`)
    return { result: {} }
  }
  for (const key of tx.keys('row', `${op.table}/`)) tx.remove('row', key)
  fitIndexes(tx.world.sql, op.table, null)
  tx.world.sql.exec('DELETE FROM cells_due WHERE tbl = ?', op.table)
  return { result: {} }
}

function save(tx: Transaction, table: Table, before?: Table): void {
  const { sql } = tx.world
  const text = keepTable(table)
  tx.put('table', table.name, text)
  // As it reads back: with its columns in order.
  const kept = readTable(table.name, text, tx.version)
  if (kept === null) throw new Error('a definition that was checked reads back')
  fitIndexes(sql, table.name, kept)
  for (const column of kept.columns) {
    const old = before?.columns.find(({ id }) => id === column.id)
    if (
      before !== undefined &&
      column.computed !== undefined &&
      old?.computed?.revision !== column.computed.revision
    )
      noteOutdated(sql, kept, column)
    if (column.unique && !old?.unique && before !== undefined) refuseDoubles(sql, kept, column)
  }
}

function addColumns(tx: Transaction, table: Table, specs: Specs, at: string, existing: boolean): Column[] {
  const columns = [...table.columns]
  // Plain columns first: a computed one may read any of them.
  const names = Object.keys(specs)
  let position = Math.max(-1, ...columns.map((column) => column.position))
  for (const name of names) {
    if (columns.some((column) => sameName(column.name, name)))
      throw new Refusal('exists', `the table has a column ${name}`, { pointer: `${at}/${name}` })
    const { computed: _, ...spec }: ColumnSpec = specs[name] ?? { type: 'json' }
    const column: Column = {
      id: freeId(table, columns, name),
      name,
      position: ++position,
      ...ruled(tx, spec, `${at}/${name}`),
    }
    columns.push(column)
    if (!existing) continue
    if (column.default !== undefined) column.fill = column.default
    if (column.required && column.default === undefined && hasRows(tx, table.name))
      throw new Refusal('invalid', 'the table has rows: a required column needs a default', {
        pointer: `${at}/${name}/default`,
      })
  }
  if (columns.length > limits.columns)
    throw new Refusal('too_large', `a table has at most ${limits.columns} columns`, { limit: limits.columns })
  for (const name of names) {
    const spec: ColumnSpec = specs[name] ?? { type: 'json' }
    const i = columns.findIndex((column) => column.name === name)
    const column = columns[i]
    if (spec.computed === undefined || column === undefined) continue
    const others = columns.filter((one) => one !== column)
    const { position: place, id, type } = column
    // Rows that are there have no such cell: by this revision they are known to lack it.
    const revision = existing ? 1 : 0
    refuseRulesOnComputed(spec, `${at}/${name}`)
    columns[i] = {
      id,
      name,
      position: place,
      type,
      ...indexRules(spec),
      computed: compute(tx, others, type, spec.computed, revision, `${at}/${name}/computed`),
    }
  }
  return columns
}

function changeColumns(tx: Transaction, table: Table, specs: Specs, at: string): Table {
  const columns = [...table.columns]
  for (const [name, given] of Object.entries(specs)) {
    const spec: ColumnSpec = given
    const pointer = `${at}/${name}`
    const i = columns.findIndex((column) => column.name === name)
    const before = columns[i]
    if (before === undefined) throw new Refusal('invalid', `there is no column ${name}`, { pointer })
    if (!wider(before.type, spec.type))
      throw new Refusal('invalid', `a ${before.type} column cannot become ${spec.type}`, {
        pointer: `${pointer}/type`,
      })
    const { id, position, fill } = before
    const rules = ruled(tx, spec, pointer)
    if (spec.computed === undefined) {
      if (before.computed !== undefined)
        throw new Refusal('invalid', 'a computed column stays computed', { pointer: `${pointer}/computed` })
      const column: Column = { id, name, position, ...(fill === undefined ? {} : { fill }), ...rules }
      if (table.key?.id === id) checkKey({ ...column, type: before.type })
      if (column.required && !before.required && hasNull(tx, table, before))
        throw new Refusal('invalid', 'some rows have no value in it', { pointer: `${pointer}/required` })
      columns[i] = column
      continue
    }
    if (before.computed === undefined)
      throw new Refusal('invalid', 'a column with values of its own cannot become computed', {
        pointer: `${pointer}/computed`,
      })
    refuseRulesOnComputed(spec, pointer)
    const others = columns.filter((one) => one !== before)
    const { revision } = before.computed
    const same = compute(tx, others, spec.type, spec.computed, revision, `${pointer}/computed`)
    const isSame =
      canonical({ ...same, type: spec.type }) === canonical({ ...before.computed, type: before.type })
    columns[i] = {
      id,
      name,
      position,
      type: spec.type,
      ...indexRules(spec),
      computed: isSame ? same : { ...same, revision: revision + 1 },
    }
  }
  return { ...table, columns, key: table.key && (columns.find(({ id }) => id === table.key?.id) ?? null) }
}

/** What a plain column is told beside its name, checked. */
function ruled(tx: Transaction, spec: ColumnSpec, pointer: string): Omit<Column, 'id' | 'name' | 'position'> {
  const { type, required, schema: schemaText } = spec
  const schema = schemaText === undefined ? undefined : JSON.parse(schemaText)
  if (schema !== undefined) {
    if (type !== 'json' && type !== 'array')
      throw new Refusal('invalid', 'only a json or array column has a schema', {
        pointer: `${pointer}/schema`,
      })
    const problem = schemaProblem(schema)
    if (problem !== null) throw new Refusal('invalid', problem, { pointer: `${pointer}/schema` })
  }
  if ((spec.unique || spec.index) && !isScalar(type))
    throw new Refusal('invalid', `a ${type} column has no index`, {
      pointer: `${pointer}/${spec.unique ? 'unique' : 'index'}`,
    })
  const ready = {
    type,
    ...indexRules(spec),
    ...(schema === undefined ? {} : { schema }),
    ...(required ? { required: true as const } : {}),
  }
  if (spec.default === undefined || spec.default === 'null') return ready
  const cell = cellOf(tx.world.sql, ready, JSON.parse(spec.default))
  if ('problem' in cell) throw new Refusal('invalid', cell.problem, { pointer: `${pointer}/default` })
  return { ...ready, default: cell.value }
}

function indexRules(spec: ColumnSpec): { unique?: true; index?: true } {
  return {
    ...(spec.unique ? { unique: true as const } : {}),
    ...(spec.index ? { index: true as const } : {}),
  }
}

function refuseRulesOnComputed(spec: ColumnSpec, pointer: string): void {
  for (const rule of ['required', 'default', 'unique', 'schema'] as const) {
    if (spec[rule] !== undefined && spec[rule] !== false)
      throw new Refusal('invalid', `a computed column takes no ${rule}`, { pointer: `${pointer}/${rule}` })
  }
}

function compute(
  tx: Transaction,
  others: readonly Column[],
  type: ColumnType,
  computed: NonNullable<ColumnSpec['computed']>,
  revision: number,
  pointer: string,
): KeptComputed {
  const id = (name: string): string => {
    const column = others.find((one) => one.name === name)
    if (column === undefined || column.computed !== undefined)
      throw new Refusal('invalid', `${name} is no column with values of its own`, { pointer })
    return column.id
  }
  if ('expression' in computed) {
    if (isMedia(type)) throw new Refusal('invalid', 'an expression makes no media', { pointer })
    const problem = expressionProblem(tx.world.sql, computed.expression, others)
    if (problem !== null) throw new Refusal('invalid', problem, { pointer })
    return { expression: computed.expression, revision }
  }
  if ('embed' in computed) {
    if (!type.startsWith('vector(')) throw new Refusal('invalid', 'an embedding is a vector(n)', { pointer })
    const { provider, model } = computed
    const length = vectorLength(type)
    if (provider === 'static' && length !== staticModel.dims) {
      throw new Refusal(
        'invalid',
        `${staticModel.name} has ${staticModel.dims} dimensions; the column has ${length}`,
        { pointer },
      )
    }
    if (provider !== 'static' && model === undefined)
      throw new Refusal('invalid', `${provider} needs a model`, { pointer: `${pointer}/model` })
    return {
      embed: [computed.embed].flat().map(id),
      provider,
      ...(model === undefined ? {} : { model }),
      revision,
    }
  }
  return { endpoint: computed.endpoint, inputs: computed.inputs.map(id), revision }
}

function renameColumns(table: Table, names: { [from: string]: string }): Table {
  let { columns } = table
  for (const [from, to] of Object.entries(names)) {
    const column = columnNamed({ columns }, from)
    if (column === undefined)
      throw new Refusal('invalid', `there is no column ${from}`, { pointer: `/rename/${from}` })
    if (columns.some((one) => one !== column && sameName(one.name, to)))
      throw new Refusal('exists', `the table has a column ${to}`, { pointer: `/rename/${from}` })
    columns = columns.map((one) => {
      if (one === column) return { ...one, name: to }
      if (one.computed === undefined || !('expression' in one.computed)) return one
      const { expression } = one.computed
      return { ...one, computed: { ...one.computed, expression: renameInExpression(expression, from, to) } }
    })
  }
  return { ...table, columns, key: columns.find(({ id }) => id === table.key?.id) ?? null }
}

function dropColumns(table: Table, names: readonly string[]): Table {
  let { columns } = table
  const dropped = [...table.dropped]
  for (const [i, name] of names.entries()) {
    const pointer = `/drop/${i}`
    const column = columnNamed({ columns }, name)
    if (column === undefined) throw new Refusal('invalid', `there is no column ${name}`, { pointer })
    if (column.id === table.key?.id) throw new Refusal('invalid', `${name} names the rows`, { pointer })
    columns = columns.filter((one) => one !== column)
    const reader = columns.find(({ computed }) => reads(computed, column))
    if (reader !== undefined)
      throw new Refusal('invalid', `${reader.name} is computed from ${name}`, { pointer })
    dropped.push(column.id)
  }
  return { ...table, columns, dropped }
}

function reads(computed: KeptComputed | undefined, column: Column): boolean {
  if (computed === undefined) return false
  if ('embed' in computed) return computed.embed.includes(column.id)
  if ('endpoint' in computed) return computed.inputs.includes(column.id)
  return renameInExpression(computed.expression, column.name, `${column.name}_`) !== computed.expression
}

/** An id for a new column: its name, or where a column before it had that one, the name with a number. */
function freeId(table: Table, columns: readonly Column[], name: string): string {
  const taken = new Set([...columns.map(({ id }) => id), ...table.dropped])
  if (!taken.has(name)) return name
  for (let n = 2; ; n++) if (!taken.has(`${name}~${n}`)) return `${name}~${n}`
}

const keyTypes = ['string', 'int', 'uuid', 'date', 'timestamp']

function checkKey(key: Column | null): void {
  if (key === null) throw new Refusal('invalid', 'there is no such column', { pointer: '/key' })
  if (!keyTypes.includes(key.type) || key.computed !== undefined)
    throw new Refusal('invalid', `a key is a column of type ${keyTypes.join(', ')}`, { pointer: '/key' })
}

/** Every value of the narrower type must read the same in the wider one. */
function wider(from: ColumnType, to: ColumnType): boolean {
  if (from === to || to === 'json') return from === to || !isMedia(from)
  if (from === 'int') return to === 'float'
  if (from === 'uuid' || from === 'date' || from === 'timestamp') return to === 'string'
  return isMedia(from) && (to === 'file' || (to === 'document' && from !== 'file'))
}

function hasRows(tx: Transaction, name: string): boolean {
  return tx.world.sql.exec(`SELECT 1 FROM entries WHERE ${rowsOf(name)} LIMIT 1`).toArray().length > 0
}

function hasNull(tx: Transaction, table: Table, column: Column): boolean {
  const query = `SELECT 1 FROM entries WHERE ${rowsOf(table.name)} AND (${columnSql(column)}) IS NULL LIMIT 1`
  return tx.world.sql.exec(query).toArray().length > 0
}

function refuseDoubles(sql: SqlStorage, table: Table, column: Column): void {
  const double = sql
    .exec(
      `SELECT 1 FROM entries WHERE ${rowsOf(table.name)} AND (${columnSql(column)}) IS NOT NULL
       GROUP BY ${columnSql(column)} HAVING count(*) > 1 LIMIT 1`,
    )
    .toArray()
  if (double.length > 0)
    throw new Refusal('invalid', `some rows have the same ${column.name}`, {
      pointer: `/change/${column.name}/unique`,
    })
}

/** Tables and views share the names of SQL, which knows no case. */
export function refuseTakenName(tx: Transaction, name: string, what: 'table' | 'view'): void {
  const taken = tx.world.sql
    .exec<{ kind: string; key: string }>(
      "SELECT kind, key FROM entries WHERE kind IN ('table', 'view') AND lower(key) = lower(?) AND NOT (kind = ? AND key = ?)",
      name,
      what,
      name,
    )
    .toArray()[0]
  if (taken) throw new Refusal('exists', `there is a ${taken.kind} ${taken.key}`, { pointer: `/${what}` })
  const { count } = tx.world.sql
    .exec<{ count: number }>("SELECT count(*) AS count FROM entries WHERE kind IN ('table', 'view')")
    .one()
  if (count >= limits.tables)
    throw new Refusal('too_large', `a session has at most ${limits.tables} tables and views`, {
      limit: limits.tables,
    })
}
