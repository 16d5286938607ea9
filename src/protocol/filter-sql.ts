// A filter as an SQL condition. What a client sent becomes one bound parameter, a JSON array from which the condition takes
// each value by its index: no text of a request is ever part of the SQL, and no number of values meets SQLite's 100 parameters.

import { type Canonical, canonical, type Json } from './canonical.ts'
import type { Failure, Outcome } from './errors.ts'
import { type FilterNode, type FilterTest, parseFilter, unknownName } from './filter.ts'

/**
 * What a name stands for. All SQL here is the caller's own, never a client's.
 *
 * - `json`: a place in a JSON or JSONB document. `null` and absent are two things, unless it is `nullable`.
 * - `scalar`: an SQL expression of one type, where NULL is both.
 */
export type Operand =
  | {
      is: 'json'
      document: string
      path: readonly string[]
      /** True where no value and null are one. */
      nullable?: true
    }
  | {
      is: 'scalar'
      sql: string
      holds: 'number' | 'text' | 'bool'
      /** The value as this place would keep it (a time in its canonical form); undefined when it could never be there. */
      adapt?: (value: Json) => Json | undefined
    }

/** Null where there is no such name. `path` is the name itself, or the steps of a JSON Pointer. */
export type Resolve = (path: readonly string[]) => Operand | null

export interface FilterSql {
  /** An expression that is 0 or 1, never NULL. */
  sql: string
  /** Bind this as the parameter of the given number. */
  param: string
}

/**
 * Compiles a filter.
 *
 * @param number of the parameter that the condition uses: `?1` unless told otherwise
 * @param base pointer to the filter in the request, for errors
 * @example
 * const filter = compileFilter({ cost: { $gt: 3 } }, resolve, 2)
 * if (filter.ok) sql.exec(`SELECT key FROM entries WHERE kind = ?1 AND ${filter.sql}`, 'row', filter.param)
 */
export function compileFilter(filter: unknown, resolve: Resolve, number = 1, base = ''): Outcome<FilterSql> {
  const parsed = parseFilter(filter, base)
  return parsed.ok ? compileNode(parsed.filter, resolve, number, base) : parsed
}

export function compileNode(node: FilterNode, resolve: Resolve, number = 1, base = ''): Outcome<FilterSql> {
  const compiler = new Compiler(resolve, number)
  const sql = compiler.node(node)
  if (typeof sql === 'string') return { ok: true, sql, param: JSON.stringify(compiler.values) }
  return { ...sql, pointer: base + (sql.pointer ?? '') }
}

class Compiler {
  readonly values: Json[] = []
  readonly #resolve: Resolve
  readonly #number: number

  constructor(resolve: Resolve, number: number) {
    this.#resolve = resolve
    this.#number = number
  }

  node(node: FilterNode): string | Failure {
    switch (node.is) {
      case 'not': {
        const of = this.node(node.of)
        return typeof of === 'string' ? `NOT ${of}` : of
      }
      case 'and':
      case 'or': {
        const parts: string[] = []
        for (const one of node.of) {
          const part = this.node(one)
          if (typeof part !== 'string') return part
          parts.push(part)
        }
        return joined(parts, node.is)
      }
      case 'test': {
        const operand = this.#resolve(node.path)
        if (operand === null) return unknownName(node.path, node.at)
        return operand.is === 'scalar' ? this.#scalar(operand, node.test) : this.#json(operand, node.test)
      }
    }
  }

  #scalar(operand: Extract<Operand, { is: 'scalar' }>, test: FilterTest): string {
    const { sql } = operand
    const adapt = (value: Json): Json | undefined => {
      const adapted = operand.adapt === undefined ? value : operand.adapt(value)
      return adapted !== undefined && fits(operand.holds, adapted) ? adapted : undefined
    }
    switch (test.op) {
      case '$exists':
        return test.value ? `(${sql} IS NOT NULL)` : `(${sql} IS NULL)`
      case '$eq': {
        if (test.value === null) return `(${sql} IS NULL)`
        const value = adapt(test.value)
        return value === undefined ? '0' : `(${sql} IS NOT NULL AND ${sql} = ${this.#value(value)})`
      }
      case '$in': {
        const values = test.values.filter((v) => v !== null).map(adapt)
        const kept = values.filter((v) => v !== undefined)
        const found =
          kept.length === 0
            ? '0'
            : `(${sql} IS NOT NULL AND ${sql} IN (SELECT value FROM json_each(${this.#document(kept)})))`
        return test.values.includes(null) ? `(${sql} IS NULL OR ${found})` : found
      }
      case '$contains':
        if (operand.holds !== 'text' || typeof test.value !== 'string') return '0'
        return `(${sql} IS NOT NULL AND instr(${sql}, ${this.#value(test.value)}) > 0)`
      default: {
        const value = operand.holds === 'bool' ? undefined : adapt(test.value)
        if (value === undefined) return '0'
        return `(${sql} IS NOT NULL AND ${sql} ${symbols[test.op]} ${this.#value(value)})`
      }
    }
  }

  #json({ document, path, nullable }: Extract<Operand, { is: 'json' }>, test: FilterTest): string {
    if (nullable) {
      const none = `(coalesce(json_type(${document}, ${this.#value(`$.${path.map(label).join('.')}`)}), 'null') = 'null')`
      if (test.op === '$exists') return test.value ? `NOT ${none}` : none
      if (test.op === '$eq' && test.value === null) return none
      if (test.op === '$in' && test.values.includes(null)) {
        const others = { op: test.op, values: test.values.filter((value) => value !== null) }
        return joined([none, this.#json({ is: 'json', document, path }, others)], 'or')
      }
    }
    // A step of digits is an index in an array and a key in an object: at most one of the two readings finds something.
    const readings = path.reduce<string[]>(
      (paths, step) => [
        ...paths.map((p) => `${p}.${label(step)}`),
        ...(/^(0|[1-9]\d{0,8})$/.test(step) ? paths.map((p) => `${p}[${step}]`) : []),
      ],
      ['$'],
    )
    const places = readings.slice(0, 16).map((reading): Place => {
      const at = this.#value(reading)
      return {
        type: `json_type(${document}, ${at})`,
        value: `json_extract(${document}, ${at})`,
        json: `(${document} -> ${at})`,
        each: `json_each(${document}, ${at})`,
      }
    })
    if (test.op === '$exists' && !test.value)
      return joined(
        places.map((place) => `(${place.type} IS NULL)`),
        'and',
      )
    return joined(
      places.map((place) => this.#place(place, test)),
      'or',
    )
  }

  #place(place: Place, test: FilterTest): string {
    const { type, value } = place
    switch (test.op) {
      case '$exists':
        return `(${type} IS NOT NULL)`
      case '$eq':
        return this.#equal(place, test.value, test.text)
      case '$in':
        return this.#oneOf(place, test.values)
      case '$contains': {
        const element: Place = { type: 'e.type', value: 'e.value', json: 'e.value', each: '' }
        const within = `(${type} IS 'array' AND EXISTS (SELECT 1 FROM ${place.each} AS e WHERE ${this.#equal(element, test.value, test.text)}))`
        if (typeof test.value !== 'string') return within
        return `(${within} OR (${type} IS 'text' AND instr(${value}, ${this.#value(test.value)}) > 0))`
      }
      default: {
        const isType = typeof test.value === 'number' ? `IN ('integer', 'real')` : `= 'text'`
        return `(${type} IS NOT NULL AND ${type} ${isType} AND ${value} ${symbols[test.op]} ${this.#value(test.value)})`
      }
    }
  }

  #equal({ type, value, json }: Place, wanted: Json, text: Canonical): string {
    switch (typeof wanted) {
      case 'number':
        return `(${type} IS NOT NULL AND ${type} IN ('integer', 'real') AND ${value} = ${this.#value(wanted)})`
      case 'string':
        return `(${type} IS 'text' AND ${value} = ${this.#value(wanted)})`
      case 'boolean':
        return `(${type} IS '${wanted}')`
      default:
        if (wanted === null) return `(${type} IS 'null')`
        // What is stored is canonical, so equal values are equal texts.
        return `(${type} IS '${Array.isArray(wanted) ? 'array' : 'object'}' AND ${json} = ${this.#value(text)})`
    }
  }

  #oneOf(place: Place, values: readonly Json[]): string {
    const { type, value, json } = place
    const numbers = values.filter((v) => typeof v === 'number')
    const texts = values.filter((v) => typeof v === 'string')
    const compound = values.filter((v) => typeof v === 'object' && v !== null).map((v) => canonical(v))
    const words = [...new Set(values.filter((v) => v === null || typeof v === 'boolean'))]
    const parts = words.map((word) => `(${type} IS '${word}')`)
    const listed = (types: string, sql: string, found: Json[]) => {
      if (found.length > 0)
        parts.push(
          `(${type} IS NOT NULL AND ${type} IN (${types}) AND ${sql} IN (SELECT value FROM json_each(${this.#document(found)})))`,
        )
    }
    listed(`'integer', 'real'`, value, numbers)
    listed(`'text'`, value, texts)
    listed(`'array', 'object'`, json, compound)
    return joined(parts, 'or')
  }

  #value(value: Json): string {
    return `json_extract(?${this.#number}, '$[${this.values.push(value) - 1}]')`
  }

  /** A list as a JSON document of its own. */
  #document(values: Json): string {
    return this.#value(values)
  }
}

/** SQL for what lies at one place of a document. */
interface Place {
  type: string
  value: string
  json: string
  each: string
}

const symbols = { $gt: '>', $gte: '>=', $lt: '<', $lte: '<=' } as const

function fits(holds: 'number' | 'text' | 'bool', value: Json): boolean {
  return typeof value === { number: 'number', text: 'string', bool: 'boolean' }[holds]
}

/** Halved and halved again: SQLite bounds the depth of an expression, and a chain of ORs is as deep as it is long. */
function joined(parts: readonly string[], by: 'and' | 'or'): string {
  if (parts.length === 0) return by === 'and' ? '1' : '0'
  if (parts.length === 1) return parts[0] ?? ''
  const middle = parts.length >> 1
  return `(${joined(parts.slice(0, middle), by)} ${by.toUpperCase()} ${joined(parts.slice(middle), by)})`
}

/** A key as a step of SQLite's JSON path, quoted as in JSON. */
function label(step: string): string {
  return JSON.stringify(step)
}
