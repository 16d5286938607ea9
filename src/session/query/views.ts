// Whether a query can be a view: compiled with the world as it is, in which the view itself is not yet there.

import type { World } from '../world.ts'
import { compileProblem } from './run.ts'
import { readStatement } from './statement.ts'

export function viewProblem(world: World, name: string, sql: string): string | null {
  const statement = readStatement(sql)
  if ('problem' in statement) return statement.problem
  const own = statement.tokens.some(
    ({ is, text }) =>
      (is === 'word' || is === 'quoted' || is === 'string') && text.toLowerCase() === name.toLowerCase(),
  )
  if (own) return `a view cannot name itself; call it otherwise, or what it names`
  return compileProblem({ world, version: world.head.version }, sql)
}
