// Filters: the one way to say which rows, memories or events are meant, without SQL. Here a filter becomes a checked tree;
// `filter-sql.ts` turns the tree into a condition. docs/filters.md says the same in words.

import { type Canonical, canonical, type Json, pointer, ValueError } from './canonical.ts'
import { type Failure, fail, type Outcome } from './errors.ts'

/** What a filter may compare, as its author writes it. */
export type Filter = { [name: string]: Json }

export type FilterNode =
  | { is: 'and' | 'or'; of: FilterNode[] }
  | { is: 'not'; of: FilterNode }
  | { is: 'test'; path: readonly string[]; test: FilterTest; at: string }

export type FilterTest =
  | { op: '$eq'; value: Json; text: Canonical }
  | { op: '$gt' | '$gte' | '$lt' | '$lte'; value: number | string }
  | { op: '$in'; values: Json[] }
  | { op: '$exists'; value: boolean }
  | { op: '$contains'; value: Json; text: Canonical }

/** Comparisons in one filter, and how deep `$and`, `$or` and `$not` may nest: what SQLite takes, with room to spare. */
export const filterLimits = { tests: 500, depth: 16, values: 10_000 } as const

/**
 * Checks a filter.
 *
 * Its meaning has two values and never a third: `$ne`, `$nin` and `$not` are the exact opposites of what they deny, so they
 * hold where there is no value at all. Numbers compare with numbers only, text with text only (by code point).
 *
 * @param base pointer to the filter in the request, for errors
 * @example parseFilter({ status: 'open', cost: { $gt: 3 } })
 */
export function parseFilter(filter: unknown, base = ''): Outcome<{ filter: FilterNode }> {
  try {
    return { ok: true, filter: new Parser().node(filter, [], 0) }
  } catch (error) {
    if (!(error instanceof BadFilter)) throw error
    return fail('invalid', error.message, { pointer: base + pointer(error.path) })
  }
}

/** `/a/b` as a pointer, any other name as itself. Null when it is no pointer although it begins as one. */
export function namePath(name: string): string[] | null {
  if (!name.startsWith('/')) return [name]
  const steps = name.slice(1).split('/')
  if (steps.some((step) => /~(?![01])/.test(step))) return null
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

class BadFilter extends Error {
  readonly path: PropertyKey[]
  constructor(message: string, path: PropertyKey[]) {
    super(message)
    this.path = path
  }
}

type Path = readonly PropertyKey[]

class Parser {
  #tests = 0

  node(filter: unknown, at: Path, depth: number): FilterNode {
    if (!isObject(filter)) throw new BadFilter('a filter is an object', [...at])
    if (depth > filterLimits.depth) throw new BadFilter(`nested deeper than ${filterLimits.depth}`, [...at])
    return all(Object.entries(filter).map(([name, value]) => this.#member(name, value, [...at, name], depth)))
  }

  #member(name: string, value: unknown, at: Path, depth: number): FilterNode {
    switch (name) {
      case '$and':
      case '$or':
        return {
          is: name === '$and' ? 'and' : 'or',
          of: list(value, at).map((one, i) => this.node(one, [...at, i], depth + 1)),
        }
      case '$not':
        return { is: 'not', of: this.node(value, at, depth + 1) }
    }
    if (name.startsWith('$'))
      throw new BadFilter(`there is no operator ${JSON.stringify(name)} here`, [...at])
    const path = namePath(name)
    if (path === null || path.length > 32 || !name.isWellFormed() || name.includes('\0'))
      throw new BadFilter('not a column, key or JSON Pointer', [...at])
    return this.#tested(path, value, at, depth)
  }

  /** `value` is compared with, unless it is an object of operators. */
  #tested(path: string[], value: unknown, at: Path, depth: number): FilterNode {
    if (!isObject(value) || !Object.keys(value).some((key) => key.startsWith('$')))
      return this.#test(path, equal(value, at), at)
    return all(
      Object.entries(value).map(([op, operand]) => this.#operator(path, op, operand, [...at, op], depth)),
    )
  }

  #operator(path: string[], op: string, operand: unknown, at: Path, depth: number): FilterNode {
    switch (op) {
      case '$eq':
        return this.#test(path, equal(operand, at), at)
      case '$ne':
        return { is: 'not', of: this.#test(path, equal(operand, at), at) }
      case '$gt':
      case '$gte':
      case '$lt':
      case '$lte':
        if (typeof operand !== 'number' && typeof operand !== 'string')
          throw new BadFilter(`${op} takes a number or a text`, [...at])
        json(operand, at)
        return this.#test(path, { op, value: operand }, at)
      case '$in':
        return this.#test(path, { op, values: values(operand, at) }, at)
      case '$nin':
        return { is: 'not', of: this.#test(path, { op: '$in', values: values(operand, at) }, at) }
      case '$exists':
        if (typeof operand !== 'boolean') throw new BadFilter('$exists takes true or false', [...at])
        return this.#test(path, { op, value: operand }, at)
      case '$contains':
        return this.#test(path, { ...equal(operand, at), op }, at)
      case '$not':
        if (!isObject(operand) || !Object.keys(operand).some((key) => key.startsWith('$')))
          throw new BadFilter('$not takes operators here', [...at])
        if (depth > filterLimits.depth)
          throw new BadFilter(`nested deeper than ${filterLimits.depth}`, [...at])
        return { is: 'not', of: this.#tested(path, operand, at, depth + 1) }
    }
    throw new BadFilter(`there is no operator ${JSON.stringify(op)}`, [...at])
  }

  #test(path: readonly string[], test: FilterTest, at: Path): FilterNode {
    if (++this.#tests > filterLimits.tests)
      throw new BadFilter(`more than ${filterLimits.tests} comparisons`, [...at])
    return { is: 'test', path, test, at: pointer(at) }
  }
}

function all(of: FilterNode[]): FilterNode {
  const [first] = of
  return first !== undefined && of.length === 1 ? first : { is: 'and', of }
}

function equal(value: unknown, at: Path): { op: '$eq'; value: Json; text: Canonical } {
  const text = json(value, at)
  // What has a canonical text is JSON.
  return { op: '$eq', value: value as Json, text }
}

function values(operand: unknown, at: Path): Json[] {
  const found = list(operand, at)
  if (found.length > filterLimits.values)
    throw new BadFilter(`more than ${filterLimits.values} values`, [...at])
  json(found, at)
  return found as Json[]
}

function list(value: unknown, at: Path): unknown[] {
  if (!Array.isArray(value)) throw new BadFilter('an array is needed', [...at])
  return value
}

function json(value: unknown, at: Path): Canonical {
  try {
    return canonical(value)
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    throw new BadFilter(error.message, [...at, ...error.path])
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A name that the place does not have: every filter's answer to it is a refusal, never everything. */
export function unknownName(path: readonly string[], at: string): Failure {
  return fail('invalid', `there is nothing called ${JSON.stringify(path.join('/'))} here`, { pointer: at })
}
