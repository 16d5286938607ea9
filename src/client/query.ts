// SQL, views and lineage: questions about everything a world holds.

import type { List, PageOptions } from './list.ts'
import type { ReadOptions, Scope, WriteOptions } from './scope.ts'
import type { Committed, LineageShown, SqlAnswer, ViewShown } from './types.ts'

export interface QueryOptions extends ReadOptions {
  /** Values of the `?`, in order. A list goes in as one value, for `json_each(?)`. */
  params?: readonly unknown[]
  /** Rows at most; 1,000 unless told otherwise. */
  limit?: number
}

export interface LineageOptions extends ReadOptions {
  /** `up`, what it was made from, unless told otherwise; `down`, what came of it. */
  direction?: 'up' | 'down'
  depth?: number
}

/** @throws {LaresError} `sql_error` */
export function query(
  scope: Scope,
  sql: string,
  { params, limit, ...options }: QueryOptions = {},
): Promise<SqlAnswer> {
  return scope.ask('/query', { sql, params, limit }, options)
}

/** The rows of an answer as objects; of two columns with one name, the later. */
export function rowsOf<T = Record<string, unknown>>({ columns, rows }: SqlAnswer): T[] {
  // What the query selects is known to whoever wrote it.
  return rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])) as T)
}

/** What can be asked, in JSON that a language model reads before it writes SQL. */
export function querySchema(scope: Scope, options: ReadOptions = {}): Promise<Record<string, unknown>> {
  return scope.json('/query/schema', options)
}

export function lineage(
  scope: Scope,
  of: string,
  { direction, depth, ...options }: LineageOptions = {},
): Promise<LineageShown> {
  return scope.read('/lineage', {
    ...options,
    query: { of, direction, depth },
    read: (response) => response.json() as Promise<LineageShown>,
  })
}

/** Queries with a name: `session.views`. */
export class Views {
  readonly #scope: Scope

  constructor(scope: Scope) {
    this.#scope = scope
  }

  define(name: string, sql: string, options: WriteOptions = {}): Promise<Committed> {
    return this.#scope.send('PUT', `/views/${encodeURIComponent(name)}`, { sql }, options)
  }

  drop(name: string, options: WriteOptions = {}): Promise<Committed> {
    return this.#scope.send('DELETE', `/views/${encodeURIComponent(name)}`, undefined, options)
  }

  get(name: string, options: ReadOptions = {}): Promise<ViewShown> {
    return this.#scope.json(`/views/${encodeURIComponent(name)}`, options)
  }

  list(options: PageOptions = {}): List<ViewShown> {
    return this.#scope.list('/views', {}, options)
  }
}
