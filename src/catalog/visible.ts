// Which sessions a caller may see, as SQL can narrow it: literal parts become ranges and substring tests (LIKE would take 50
// bytes and treat `_` as a wildcard). SQL only narrows; `matches`, the one rule that all doors share, decides.

import { type Column, eq, gte, lt, type SQL, sql } from 'drizzle-orm'

export interface Visible {
  /** A session id in which each `*` stands for any characters. */
  pattern: string
  /** Decides. Must accept nothing that lacks one of the pattern's literal parts. */
  matches: (session: string) => boolean
}

/** Conditions that everything the pattern matches fulfils. */
export function narrowTo(session: Column, { pattern }: Visible): SQL[] {
  const [prefix = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return [eq(session, prefix)]
  const parts = rest.filter((part) => part !== '')
  const missing = sql`SELECT 1 FROM json_each(${JSON.stringify(parts)}) WHERE instr(${session}, value) = 0`
  return [...startsWith(session, prefix), ...(parts.length === 0 ? [] : [sql`NOT EXISTS (${missing})`])]
}

/** Ids that begin with a text, bytewise, as a range that an index serves. */
export function startsWith(session: Column, prefix: string): SQL[] {
  // Ids are ASCII, so each that begins so sorts below the prefix with the last code point after it.
  return prefix === '' ? [] : [gte(session, prefix), lt(session, `${prefix}\u{10FFFF}`)]
}
