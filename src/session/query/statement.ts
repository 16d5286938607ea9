// What a stranger's statement must be before it is let near the database: one SELECT, closed in itself, that names nothing of
// the database's own. It judges tokens, so what stands in a text or a comment is only that.
//
// That it cannot write is not decided here: it runs inside a transaction that is always undone (run.ts).

import { limits } from '../../protocol/limits.ts'
import { isSymbol, isWord, type Token, tokenize } from './tokens.ts'

export interface Statement {
  /** The statement without a closing semicolon. */
  sql: string
  tokens: readonly Token[]
  /** How many `?` there are. */
  params: number
  /** The most rows that a recursive query in it may make; 0 when there is none. */
  recursion: number
}

/** Checks a statement; answers why it is refused otherwise. */
export function readStatement(text: string): Statement | { problem: string } {
  if (!text.isWellFormed() || text.includes('\0')) return { problem: 'the statement is not well-formed text' }
  const split = tokenize(text)
  if ('problem' in split) return { problem: `${split.problem}, at character ${split.at}` }
  const tokens = withoutEnd(split.tokens)
  const [first] = tokens
  if (first === undefined) return { problem: 'there is no statement' }
  if (!isWord(first, 'select', 'with', 'values'))
    return {
      problem: 'only one SELECT (or WITH … SELECT, or VALUES) can be run; nothing can be written by SQL',
    }
  const problem = bracketProblem(tokens) ?? writeProblem(tokens)
  if (problem !== null) return { problem }
  for (const [i, token] of tokens.entries()) {
    const wrong = nameProblem(tokens, i, token)
    if (wrong !== null) return { problem: wrong }
  }
  const recursion = recursionProblem(tokens)
  if (typeof recursion === 'string') return { problem: recursion }
  const params = tokens.filter(({ is }) => is === 'parameter').length
  return { sql: text.slice(0, tokens.at(-1)?.end ?? 0), tokens, params, recursion }
}

function withoutEnd(tokens: readonly Token[]): Token[] {
  const kept = [...tokens]
  while (isSymbol(kept.at(-1), ';')) kept.pop()
  return kept
}

/** Nothing may close the brackets that the statement is put into. */
function bracketProblem(tokens: readonly Token[]): string | null {
  let depth = 0
  for (const token of tokens) {
    if (isSymbol(token, ';')) return 'only one statement can be run'
    if (isSymbol(token, '(')) depth++
    if (isSymbol(token, ')') && --depth < 0) return 'a bracket closes that was not opened'
  }
  return depth === 0 ? null : 'a bracket is not closed'
}

/** After a WITH could come a statement that writes. It would be undone; it is refused so that it is understood. */
function writeProblem(tokens: readonly Token[]): string | null {
  for (const [i, token] of tokens.entries()) {
    if (!isWord(token, 'insert', 'update', 'delete', 'pragma', 'attach', 'vacuum')) continue
    const before = tokens[i - 1]
    if (before === undefined || isSymbol(before, ')')) {
      const next = tokens[i + 1]
      if (isWord(next, 'into', 'or', 'from') || next?.is === 'word' || next?.is === 'quoted')
        return 'nothing can be written by SQL; use operations'
    }
  }
  return null
}

/** Functions that make much out of nothing, or speak of the database itself. */
const refusedFunctions =
  /^(zeroblob|randomblob|load_extension|fts5.*|rtree.*|matchinfo|offsets|optimize|sqlite_.*|last_insert_rowid|changes|total_changes)$/i

const planWords = /CONSTANT ROW|VIRTUAL TABLE|PRIMARY KEY| USING /i

function nameProblem(tokens: readonly Token[], i: number, token: Token): string | null {
  if (token.is === 'parameter')
    return token.text === '?' ? null : `a parameter is written ?, not ${token.text}`
  // A relation of such a name would be mistaken for something smaller where the plan is read (cost.ts).
  if (token.is !== 'word' && planWords.test(token.text))
    return 'this text cannot stand in a statement; pass it as a parameter'
  if (token.is !== 'word' && token.is !== 'quoted') return null
  const { text } = token
  if (/^(sqlite_|pragma_|_cf_|lares_|dbstat|bytecode$|tables_used$)/i.test(text))
    return `there is nothing called ${text} here`
  if (/^(main|temp)$/i.test(text) && isSymbol(tokens[i + 1], '.')) return 'tables are named without a schema'
  if (!isSymbol(tokens[i + 1], '(')) return null
  if (refusedFunctions.test(text)) return `the function ${text} is not available`
  if (/^(printf|format)$/i.test(text)) return formatProblem(tokens[i + 2])
  return null
}

/** A width of millions would make a text of millions. */
function formatProblem(format: Token | undefined): string | null {
  if (format?.is === 'string' && !/%[^a-zA-Z%]*(\*|\d{4,})/.test(format.text)) return null
  return 'printf takes a literal format without * and without wide columns'
}

/**
 * A recursive query ends only by what it computes, so it must say itself how many rows it makes at most. The database cannot
 * be told to stop one that does not.
 *
 * @returns the most rows that one may make, or what is wrong
 */
function recursionProblem(tokens: readonly Token[]): string | number {
  let most = 0
  for (const [i, token] of tokens.entries()) {
    const body = bodyOf(tokens, i)
    if (body === null) continue
    const name = token.text.toLowerCase()
    const calls = body.some(
      (one) =>
        (one.is === 'word' || one.is === 'quoted' || one.is === 'string') && one.text.toLowerCase() === name,
    )
    if (!calls) continue
    if (!isLimited(body))
      return `the recursive query ${token.text} needs a LIMIT of at most ${limits.sqlRecursion}, as a number, at its end`
    most = Math.max(most, Number(body.at(-1)?.text))
  }
  return most
}

/** The tokens between the brackets of `name [(columns)] AS [[NOT] MATERIALIZED] ( … )`, where a query is named at `i`. */
function bodyOf(tokens: readonly Token[], i: number): readonly Token[] | null {
  const token = tokens[i]
  if (token === undefined || token.is === 'symbol' || token.is === 'number') return null
  let at = i + 1
  if (isSymbol(tokens[at], '(')) at = closing(tokens, at) + 1
  if (!isWord(tokens[at], 'as')) return null
  at++
  if (isWord(tokens[at], 'not')) at++
  if (isWord(tokens[at], 'materialized')) at++
  if (!isSymbol(tokens[at], '(')) return null
  return tokens.slice(at + 1, closing(tokens, at))
}

function closing(tokens: readonly Token[], open: number): number {
  let depth = 0
  for (let i = open; i < tokens.length; i++) {
    if (isSymbol(tokens[i], '(')) depth++
    if (isSymbol(tokens[i], ')') && --depth === 0) return i
  }
  return tokens.length
}

function isLimited(body: readonly Token[]): boolean {
  const count = body.at(-1)
  return (
    isWord(body.at(-2), 'limit') &&
    count?.is === 'number' &&
    /^\d{1,9}$/.test(count.text) &&
    Number(count.text) <= limits.sqlRecursion
  )
}
