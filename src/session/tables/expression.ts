// A computed column's expression: SQLite evaluates it, over the row's own columns and with functions that always answer the
// same. It is checked here token by token, so that it can be nothing but an expression.

import type { Json } from '../../protocol/canonical.ts'
import { isSymbol, isWord, quoteName, type Token, tokenize } from '../query/tokens.ts'
import type { Column, Table } from './definition.ts'
import { columnSql } from './relation.ts'

/** Functions of their arguments alone that cannot make much out of little. */
const functions = new Set(
  `abs ceil ceiling coalesce floor ifnull iif instr json_array_length json_extract json_type json_valid length log log10 log2 lower
   ltrim max min mod nullif pow power replace round rtrim sign sqrt substr substring trim typeof unicode upper exp ln trunc
   concat concat_ws json_array json_object date time datetime julianday strftime unixepoch`.split(/\s+/),
)
const words = new Set(
  'and or not is null true false in like glob between case when then else end cast as text integer real escape distinct from'.split(
    ' ',
  ),
)
/** Words of a time function that make it a clock. */
const clocks = /^(now|localtime|utc|subsec|subsecond)$/i

/** Why a text cannot be the expression of a column, or null. */
export function expressionProblem(
  sql: SqlStorage,
  expression: string,
  columns: readonly Column[],
): string | null {
  return wordsProblem(expression, columns) ?? parses(sql, expression, columns)
}

function wordsProblem(expression: string, columns: readonly Column[]): string | null {
  const split = tokenize(expression)
  if ('problem' in split) return split.problem
  const { tokens } = split
  let depth = 0
  for (const [i, token] of tokens.entries()) {
    if (isSymbol(token, '(')) depth++
    if (isSymbol(token, ')') && --depth < 0) return 'a bracket closes that was not opened'
    const problem = tokenProblem(tokens, i, token, columns)
    if (problem !== null) return problem
  }
  if (depth > 0) return 'a bracket is not closed'
  if (expression.includes('--') || expression.includes('/*')) return 'an expression has no comments'
  return null
}

function tokenProblem(
  tokens: readonly Token[],
  i: number,
  token: Token,
  columns: readonly Column[],
): string | null {
  switch (token.is) {
    case 'parameter':
      return 'an expression has no parameters'
    case 'symbol':
      return token.text === ';' ? 'an expression is one expression' : null
    case 'string':
      return clocks.test(token.text) ? `${token.text} is not the same at every time` : null
    case 'word': {
      const name = token.text.toLowerCase()
      if (isSymbol(tokens[i + 1], '(') && !words.has(name)) {
        return functions.has(name) ? timeProblem(tokens, i) : `there is no function ${token.text} here`
      }
      if (words.has(name)) return null
    }
  }
  if (token.is !== 'word' && token.is !== 'quoted') return null
  const column = columns.find((one) => one.name.toLowerCase() === token.text.toLowerCase())
  if (column === undefined) return `there is no column ${token.text}`
  return column.computed === undefined ? null : `${token.text} is computed itself`
}

/** A time function without an argument means now. */
function timeProblem(tokens: readonly Token[], i: number): string | null {
  if (!/^(date|time|datetime|julianday|strftime|unixepoch)$/i.test(tokens[i]?.text ?? '')) return null
  if (isSymbol(tokens[i + 2], ')')) return `${tokens[i]?.text} needs a time`
  if (!isWord(tokens[i], 'strftime')) return null
  let depth = 0
  for (const token of tokens.slice(i + 1)) {
    if (isSymbol(token, '(')) depth++
    else if (isSymbol(token, ')') && --depth === 0) break
    else if (depth === 1 && isSymbol(token, ',')) return null
  }
  return 'strftime needs a time'
}

function parses(sql: SqlStorage, expression: string, columns: readonly Column[]): string | null {
  const inputs = columns.filter((column) => column.computed === undefined)
  const row = inputs.map((column) => `NULL AS ${quoteName(column.name)}`).join(', ') || 'NULL'
  try {
    sql.exec(`SELECT (${expression}\n) FROM (SELECT ${row}) LIMIT 0`).toArray()
    return null
  } catch (error) {
    return error instanceof Error
      ? error.message.replace(/ at offset \d+/, '').replace(/: SQLITE_\w+/, '')
      : 'not SQL'
  }
}

/** The expression with a column's new name in the place of its old one. */
export function renameInExpression(expression: string, from: string, to: string): string {
  const split = tokenize(expression)
  if ('problem' in split) return expression
  let out = ''
  let at = 0
  for (const [i, token] of split.tokens.entries()) {
    const isName = token.is === 'quoted' || (token.is === 'word' && !isSymbol(split.tokens[i + 1], '('))
    if (!isName || token.text.toLowerCase() !== from.toLowerCase()) continue
    out += expression.slice(at, token.start) + quoteName(to)
    at = token.end
  }
  return out + expression.slice(at)
}

/** Columns that an expression reads, by name. */
export function inputsOf(expression: string, columns: readonly Column[]): Column[] {
  const split = tokenize(expression)
  if ('problem' in split) return []
  const names = new Set(
    split.tokens
      .filter((token) => token.is === 'word' || token.is === 'quoted')
      .map((token) => token.text.toLowerCase()),
  )
  return columns.filter((column) => column.computed === undefined && names.has(column.name.toLowerCase()))
}

export type Computed = { value: Json } | { problem: string }

/**
 * The expression's value for each row.
 *
 * @param rows JSON texts of rows as they are kept
 */
export function evaluate(
  sql: SqlStorage,
  table: Pick<Table, 'columns'>,
  column: Pick<Column, 'type'>,
  expression: string,
  rows: readonly string[],
): Computed[] {
  // It was checked when the column was made, unless the table came from elsewhere.
  const problem = wordsProblem(expression, table.columns)
  if (problem !== null) return rows.map(() => ({ problem }))
  const inputs = inputsOf(expression, table.columns)
  const columns = inputs.map((input) => `${columnSql(input, 'j.value')} AS ${quoteName(input.name)}`)
  const query = `SELECT (${expression}\n) AS value FROM (SELECT ${['j.key AS lares_at', ...columns].join(', ')}
    FROM json_each(?) AS j) ORDER BY lares_at`
  const run = (part: readonly string[]) =>
    sql
      .exec<{ value: SqlStorageValue }>(query, `[${part.join(',')}]`)
      .toArray()
      .map(({ value }) => ({ value: asJson(column, value) }))
  try {
    return run(rows)
  } catch {
    // One row at a time, so that only the cells that fail are in error.
    return rows.map((row): Computed => {
      try {
        return run([row])[0] ?? { value: null }
      } catch (error) {
        return {
          problem: error instanceof Error ? error.message.replace(/: SQLITE_\w+$/, '') : 'not computed',
        }
      }
    })
  }
}

/** What SQLite answers, as the column's type would write it. */
function asJson(column: Pick<Column, 'type'>, value: SqlStorageValue): Json {
  if (value instanceof ArrayBuffer) return null
  if (column.type === 'bool' && (value === 0 || value === 1)) return value === 1
  if (column.type === 'string' && typeof value === 'number') return String(value)
  if ((column.type === 'json' || column.type === 'array') && typeof value === 'string') {
    try {
      return JSON.parse(value)
    } catch {
      return value
    }
  }
  return value
}
