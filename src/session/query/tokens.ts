// SQL as tokens, the way SQLite itself splits it. Everything that judges a statement from outside stands on this: a text in
// quotes, a comment or a quoted name is never taken for more than it is.

export type Token = {
  is: 'word' | 'quoted' | 'string' | 'blob' | 'number' | 'parameter' | 'symbol'
  /** As written; of a quoted name, what it names. */
  text: string
  start: number
  end: number
}

/** Splits a statement; null with where it goes wrong, for what SQLite would not split either. Comments are left out. */
export function tokenize(sql: string): { tokens: Token[] } | { problem: string; at: number } {
  const tokens: Token[] = []
  let at = 0
  while (at < sql.length) {
    const rest = nextToken(sql, at)
    if (typeof rest === 'string') return { problem: rest, at }
    if (rest.token !== null) tokens.push(rest.token)
    at = rest.end
  }
  return { tokens }
}

const space = /[\t\n\f\r ]+/y
const word = /[A-Za-z_\u0080-\u{10FFFF}][A-Za-z0-9_$\u0080-\u{10FFFF}]*/uy
const number = /(0[xX][0-9a-fA-F]+|(\d[\d_]*(\.\d*)?|\.\d+)([eE][+-]?\d+)?)/y
const parameter = /\?\d*|[:@#$][A-Za-z0-9_$:]+/y
const symbol = /->>|->|\|\||<<|>>|<=|>=|<>|!=|==|[-+*/%&|~<>=(),.;]/y

function nextToken(sql: string, start: number): { token: Token | null; end: number } | string {
  const c = sql[start] ?? ''
  const skipped = matchAt(space, sql, start)
  if (skipped !== null) return { token: null, end: skipped }
  if (sql.startsWith('--', start)) {
    const end = sql.indexOf('\n', start)
    return { token: null, end: end === -1 ? sql.length : end + 1 }
  }
  if (sql.startsWith('/*', start)) {
    const end = sql.indexOf('*/', start + 2)
    // SQLite lets a comment run to the end; ours must not swallow what comes after the query.
    return end === -1 ? 'a comment is not closed' : { token: null, end: end + 2 }
  }
  if ((c === 'x' || c === 'X') && sql[start + 1] === "'") return quoted(sql, start + 1, "'", 'blob', start)
  if (c === "'") return quoted(sql, start, "'", 'string', start)
  if (c === '"' || c === '`') return quoted(sql, start, c, 'quoted', start)
  if (c === '[') {
    const end = sql.indexOf(']', start)
    if (end === -1) return 'a quoted name is not closed'
    return { token: { is: 'quoted', text: sql.slice(start + 1, end), start, end: end + 1 }, end: end + 1 }
  }
  for (const [is, pattern] of [
    ['word', word],
    ['number', number],
    ['parameter', parameter],
    ['symbol', symbol],
  ] as const) {
    const end = matchAt(pattern, sql, start)
    if (end === null) continue
    // `1abc` is no token of SQLite's.
    if (is === 'number' && matchAt(word, sql, end) !== null) return 'a number runs into a name'
    return { token: { is, text: sql.slice(start, end), start, end }, end }
  }
  return `${JSON.stringify(c)} has no meaning in SQL`
}

function quoted(
  sql: string,
  open: number,
  quote: string,
  is: Token['is'],
  start: number,
): { token: Token; end: number } | string {
  let end = open + 1
  for (;;) {
    end = sql.indexOf(quote, end)
    if (end === -1) return `${quote} is not closed`
    if (sql[end + 1] !== quote) break
    end += 2
  }
  const text = sql.slice(open + 1, end).replaceAll(quote + quote, quote)
  return { token: { is, text, start, end: end + 1 }, end: end + 1 }
}

function matchAt(pattern: RegExp, sql: string, at: number): number | null {
  pattern.lastIndex = at
  return pattern.test(sql) ? pattern.lastIndex : null
}

/** True for a bare word, whatever its case. */
export function isWord(token: Token | undefined, ...words: string[]): boolean {
  return token?.is === 'word' && words.includes(token.text.toLowerCase())
}

export function isSymbol(token: Token | undefined, symbol: string): boolean {
  return token?.is === 'symbol' && token.text === symbol
}

/** A name as SQL text. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A text as SQL, from its bytes: nothing in it can end it. */
export function quoteText(text: string): string {
  return `CAST(x'${Buffer.from(text).toString('hex')}' AS TEXT)`
}
