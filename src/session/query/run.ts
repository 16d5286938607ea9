// Running a stranger's SQL: composed, priced, then run inside a transaction that is always undone, with its answer counted in
// rows, bytes and time.

import { type Canonical, canonical, type Json } from '../../protocol/canonical.ts'
import { type Failure, fail, type Outcome } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { At } from '../rpc.ts'
import { resolveAt } from '../time.ts'
import type { World } from '../world.ts'
import { boolColumns } from './bools.ts'
import { type Composed, compose } from './compose.ts'
import { type PlanRow, worstCase } from './cost.ts'
import type { Standpoint } from './relations.ts'
import { readStatement, type Statement } from './statement.ts'

export interface SqlQuery {
  sql: string
  /** A JSON array. */
  params: Canonical | null
  at: At
  limit: number
}

export interface SqlAnswer {
  version: number
  /** `{columns, rows, more, version}` as JSON. */
  text: string
}

/** Milliseconds after which an answer that is still coming is broken off. */
const patience = 5000

export function runQuery(world: World, query: SqlQuery): Outcome<SqlAnswer> {
  const resolved = resolveAt(world, query.at)
  if (!resolved.ok) return resolved
  const statement = readStatement(query.sql)
  if ('problem' in statement) return refused(statement.problem)
  const params = bindings(statement, query.params)
  if ('ok' in params) return params
  const at = { world, version: resolved.version }
  return undone(world, () => {
    const composed = compose(at, statement)
    if ('problem' in composed) return refused(composed.problem)
    return answer(at, statement, composed, params, query.limit)
  })
}

/** Why a statement cannot be a view's, or null. It is compiled, not run. */
export function compileProblem(at: Standpoint, sql: string): string | null {
  const statement = readStatement(sql)
  if ('problem' in statement) return statement.problem
  if (statement.params > 0) return 'a view has no parameters'
  const outcome = undone(at.world, (): Outcome<object> => {
    const composed = compose(at, statement)
    if ('problem' in composed) return refused(composed.problem)
    const columns = columnsOf(at.world, statement, composed, [])
    return columns.ok && new Set(columns.names.map((name) => name.toLowerCase())).size < columns.names.length
      ? refused('two columns have the same name')
      : columns
  })
  return outcome.ok ? null : outcome.detail
}

class Undo {
  readonly outcome: unknown
  constructor(outcome: unknown) {
    this.outcome = outcome
  }
}

/** Runs something and takes back whatever it did: that a query cannot write does not hang on any check of its text. */
function undone<T>(world: World, act: () => T): T {
  try {
    return world.storage.transactionSync(() => {
      throw new Undo(act())
    })
  } catch (error) {
    // What `act` returned.
    if (error instanceof Undo) return error.outcome as T
    throw error
  }
}

function refused(detail: string): Failure {
  return fail('sql_error', detail)
}

function bindings(statement: Statement, params: Canonical | null): SqlStorageValue[] | Failure {
  const given: Json[] = params === null ? [] : JSON.parse(params)
  if (given.length !== statement.params)
    return fail(
      'sql_error',
      `the statement has ${statement.params} parameters, and ${given.length} values were given`,
      {
        pointer: '/params',
      },
    )
  if (given.length > limits.sqlParams)
    return fail(
      'sql_error',
      `at most ${limits.sqlParams} parameters; pass a list as one JSON array and use json_each(?)`,
      {
        limit: limits.sqlParams,
        pointer: '/params',
      },
    )
  return given.map((value) => {
    if (typeof value === 'boolean') return Number(value)
    return typeof value === 'object' && value !== null ? canonical(value) : value
  })
}

type Columns = { ok: true; names: string[] } | Failure

/** The names of the answer's columns, as the statement gives them, two of one name included. */
function columnsOf(
  world: World,
  statement: Statement,
  { relations }: Composed,
  params: SqlStorageValue[],
): Columns {
  return attempt(() => {
    const cursor = world.sql.exec(`WITH ${relations} SELECT * FROM (${statement.sql}\n) LIMIT 0`, ...params)
    return { ok: true, names: cursor.columnNames.map(asWritten) }
  })
}

/** In brackets, a name that comes again gets a number from the database. */
function asWritten(name: string, i: number, names: readonly string[]): string {
  const numbered = /^([\s\S]*):\d+$/.exec(name)
  const before = numbered?.[1]?.toLowerCase()
  return before !== undefined && names.slice(0, i).some((one) => one.toLowerCase() === before)
    ? (numbered?.[1] ?? name)
    : name
}

function answer(
  { world, version }: Standpoint,
  statement: Statement,
  composed: Composed,
  params: SqlStorageValue[],
  limit: number,
): Outcome<SqlAnswer> {
  const columns = columnsOf(world, statement, composed, params)
  if (!columns.ok) return columns
  const names = columns.names.map((_, i) => `c${i}`)
  // Beyond 2^53 the platform would round a whole number on its way out; as text it stays exact.
  const cells = names.map(
    (c) =>
      `CASE WHEN typeof(${c}) = 'integer' AND (${c} > 9007199254740991 OR ${c} < -9007199254740991) THEN CAST(${c} AS TEXT) ELSE ${c} END`,
  )
  const sql = `WITH ${composed.relations}, lares_answer(${names.join(', ')}) AS (${statement.sql}\n)
    SELECT ${cells.join(', ')} FROM lares_answer LIMIT ${limit + 1}`
  return attempt(() => {
    const dear = priceProblem(world, composed, statement, sql, params)
    if (dear !== null) return dear
    const bools = boolColumns(statement.tokens, composed.used, names.length)
    const rows: string[] = []
    let bytes = 0
    const end = Date.now() + patience
    for (const row of world.sql.exec(sql, ...params).raw()) {
      const text = `[${row.map((value, i) => (bools[i] ? boolText(value) : cellText(value))).join(',')}]`
      bytes += text.length
      // What is too much is read to its end all the same, while there is time: a statement left half-way stays open.
      if (bytes > limits.sqlBytes && Date.now() <= end) continue
      if (bytes > limits.sqlBytes) break
      rows.push(text)
      if (Date.now() > end) return refused(`the query took longer than ${patience} ms and was broken off`)
    }
    if (bytes > limits.sqlBytes)
      return fail(
        'sql_error',
        `the answer has more than ${limits.sqlBytes} bytes; ask for fewer rows or columns`,
        {
          limit: limits.sqlBytes,
        },
      )
    const more = rows.length > limit
    const shown = more ? rows.slice(0, limit) : rows
    const text = `{"columns":${JSON.stringify(columns.names)},"rows":[${shown.join(',')}],"more":${more},"version":${version}}`
    return { ok: true, version, text }
  })
}

function priceProblem(
  world: World,
  { used, recursion }: Composed,
  statement: Statement,
  sql: string,
  params: SqlStorageValue[],
): Failure | null {
  const plan = world.sql
    .exec<PlanRow & Record<string, SqlStorageValue>>(`EXPLAIN QUERY PLAN ${sql}`, ...params)
    .toArray()
  const sizes = new Map(used.flatMap((relation) => [...relation.sizes()]))
  const hasIn = /\bin\b/i.test(sql)
  const steps = worstCase(plan, sizes, {
    elements: elementsAtMost(world, statement, params, plan),
    recursion,
    hasIn,
  })
  if (steps <= limits.sqlSteps) return null
  return fail(
    'sql_error',
    `this query might take ${steps.toExponential(1)} steps, and ${limits.sqlSteps.toExponential(0)} is the most; join fewer or smaller things`,
    { limit: limits.sqlSteps },
  )
}

/** Elements that a call of json_each may give: an element takes two characters at least. */
function elementsAtMost(
  world: World,
  { sql }: Statement,
  params: readonly SqlStorageValue[],
  plan: readonly PlanRow[],
): number {
  const loops = plan.filter(({ detail }) => /^(SCAN|SEARCH) /.test(detail))
  const virtual = loops.filter(({ detail }) => detail.includes(' VIRTUAL TABLE ')).length
  if (virtual === 0) return 1
  const given =
    Math.max(sql.length, ...params.map((value) => (typeof value === 'string' ? value.length : 0))) / 2
  // One walk over the elements of each row is a walk over the data, however they are spread.
  if (virtual === 1 && loops.length <= 2) return Math.max(given, 100)
  const { most } = world.sql
    .exec<{ most: number | null }>(
      `SELECT max(most) AS most FROM (SELECT max(size) AS most FROM entries WHERE blob IS NULL AND kind <> 'file'
        UNION ALL SELECT max(size) FROM past WHERE blob IS NULL AND kind <> 'file' UNION ALL SELECT max(size) FROM events WHERE blob IS NULL)`,
    )
    .one()
  return Math.max(given, (most ?? 0) / 2, 16)
}

function boolText(value: SqlStorageValue): string {
  return value === 1 ? 'true' : value === 0 ? 'false' : cellText(value)
}

function cellText(value: SqlStorageValue): string {
  if (value instanceof ArrayBuffer) return JSON.stringify(Buffer.from(value).toString('base64'))
  // JSON has no word for these.
  if (typeof value === 'number' && !Number.isFinite(value)) return JSON.stringify(String(value))
  return JSON.stringify(value)
}

/** Runs SQL of a stranger's making: what SQLite says of it is theirs to know, what it says of our side is not. */
function attempt<T extends { ok: true }>(act: () => T | Failure): T | Failure {
  try {
    return act()
  } catch (error) {
    if (
      !(error instanceof Error) ||
      !/SQLITE_|too big|out of memory|not authorized|D1_|parameter|column/i.test(error.message)
    )
      throw error
    return refused(cleaned(error.message))
  }
}

function cleaned(message: string): string {
  const text = message
    .replace(/: SQLITE_\w+.*$/s, '')
    .replace(/ at offset \d+/, '')
    .replace(/\blares_row_|\blares_/g, '')
  if (/lares: there is nothing/.test(message)) return 'there is no such table; see GET …/query/schema'
  return text.slice(0, 500)
}
