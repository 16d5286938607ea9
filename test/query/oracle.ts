// Filters, evaluated in plain JavaScript from the words of docs/filters.md: what the SQL is compared with.

import { canonical, type FilterNode, type FilterTest, type Json } from '../../src/protocol/index.ts'

export function matches(node: FilterNode, value: Json): boolean {
  switch (node.is) {
    case 'and':
      return node.of.every((one) => matches(one, value))
    case 'or':
      return node.of.some((one) => matches(one, value))
    case 'not':
      return !matches(node.of, value)
    case 'test':
      return holds(node.test, lookUp(value, node.path))
  }
}

function holds(test: FilterTest, found: Json | undefined): boolean {
  switch (test.op) {
    case '$exists':
      return (found !== undefined) === test.value
    case '$eq':
      return same(found, test.value)
    case '$in':
      return test.values.some((value) => same(found, value))
    case '$contains':
      if (Array.isArray(found)) return found.some((element) => same(element, test.value))
      return typeof found === 'string' && typeof test.value === 'string' && found.includes(test.value)
    default: {
      const order = compare(found, test.value)
      if (order === null) return false
      return { $gt: order > 0, $gte: order >= 0, $lt: order < 0, $lte: order <= 0 }[test.op]
    }
  }
}

function same(a: Json | undefined, b: Json): boolean {
  return a !== undefined && canonical(a) === canonical(b)
}

/** By value for two numbers, by code point for two texts; null for anything else. */
function compare(a: Json | undefined, b: Json): number | null {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return null
}

function lookUp(value: Json, path: readonly string[]): Json | undefined {
  let at: Json | undefined = value
  for (const step of path) {
    if (typeof at !== 'object' || at === null) return undefined
    if (Array.isArray(at) && !/^(0|[1-9]\d*)$/.test(step)) return undefined
    if (!Object.hasOwn(at, step)) return undefined
    at = Reflect.get(at, step)
  }
  return at
}
