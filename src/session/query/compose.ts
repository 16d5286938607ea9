// A statement with its world in front of it: only the relations it names, directly or through views, each as a common table
// expression; and for every name of the database's own that it uses, one that refuses.

import type { World } from '../world.ts'
import { builtIn, type Relation, type Standpoint, tableRelation, tablesAt, viewsAt } from './relations.ts'
import { readStatement, type Statement } from './statement.ts'
import { quoteName, type Token } from './tokens.ts'

export interface Composed {
  /** `name AS (…), …`, to stand after WITH; never empty. */
  relations: string
  used: readonly Relation[]
  /** The most rows that a recursive query may make, views included. */
  recursion: number
}

export function compose(at: Standpoint, statement: Statement): Composed | { problem: string } {
  const tables = new Map(tablesAt(at).map((table) => [table.name.toLowerCase(), table]))
  const views = new Map(viewsAt(at).map((view) => [view.name.toLowerCase(), view]))
  const own = new Map(builtIn(at).map((relation) => [relation.name, relation]))
  const used: Relation[] = []
  const parts: string[] = []
  let { recursion } = statement
  const seen = new Set<string>()
  const wanted = namesIn(statement.tokens)
  for (let name = wanted.shift(); name !== undefined; name = wanted.shift()) {
    if (seen.has(name)) continue
    seen.add(name)
    const table = tables.get(name)
    const view = views.get(name)
    const relation = own.get(name) ?? (table && tableRelation(at, table))
    if (relation !== undefined) {
      used.push(relation)
      parts.push(`${quoteName(relation.name)} AS NOT MATERIALIZED (${relation.sql})`)
    } else if (view !== undefined) {
      const read = readStatement(view.sql)
      if ('problem' in read) return { problem: `the view ${view.name}: ${read.problem}` }
      if (read.params > 0) return { problem: `the view ${view.name} has parameters` }
      recursion = Math.max(recursion, read.recursion)
      wanted.push(...namesIn(read.tokens))
      parts.push(`${quoteName(view.name)} AS NOT MATERIALIZED (${read.sql}\n)`)
    }
  }
  for (const name of namesOfDatabase(at.world)) {
    if (!seen.has(name) || own.has(name) || tables.has(name) || views.has(name)) continue
    parts.push(`${quoteName(name)} AS (SELECT * FROM "lares: there is nothing of this name")`)
  }
  parts.push('lares_one AS (SELECT 1)')
  return { relations: parts.join(',\n'), used, recursion }
}

function namesIn(tokens: readonly Token[]): string[] {
  // A text in single quotes can stand where a name is meant.
  return tokens
    .filter(({ is }) => is === 'word' || is === 'quoted' || is === 'string')
    .map(({ text }) => text.toLowerCase())
}

/** Everything that could be read by its own name if nothing stood in front of it. */
function namesOfDatabase({ sql }: World): string[] {
  return sql
    .exec<{ name: string }>(
      "SELECT DISTINCT lower(name) AS name FROM sqlite_master WHERE type IN ('table', 'view')",
    )
    .toArray()
    .map(({ name }) => name)
}
