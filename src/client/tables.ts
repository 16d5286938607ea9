// Tables as they are read and written: `session.tables` for definitions, `session.table('notes')` for rows.

import { commit } from './commits.ts'
import { List, type Page, type PageOptions } from './list.ts'
import { encodePath } from './paths.ts'
import { jsonBody, type ReadOptions, type Scope, type WriteOptions } from './scope.ts'
import type { KeyedOptions } from './transaction.ts'
import type {
  Committed,
  Filter,
  OpFields,
  Row,
  RowsWritten,
  TableChanges,
  TableDefinition,
  TableShown,
} from './types.ts'

export interface RowsQuery extends PageOptions {
  select?: readonly string[]
  where?: Filter
  /** Columns, each with a `-` before it for descending. */
  order?: string | readonly string[]
}

export interface InsertOptions extends WriteOptions {
  /** What becomes of a row whose key is there: `error` unless told otherwise. */
  on_conflict?: OpFields<'row.insert'>['on_conflict']
  from?: OpFields<'row.insert'>['from']
}

/** Rows of one table, read at the head or at a point of history. */
export class TableReader {
  readonly name: string
  protected readonly scope: Scope

  constructor(scope: Scope, name: string) {
    this.scope = scope
    this.name = name
  }

  protected get path(): string {
    return `/tables/${encodeURIComponent(this.name)}`
  }

  /** Its definition. @throws {LaresError} `not_found` */
  definition(options: ReadOptions = {}): Promise<TableShown> {
    return this.scope.json(this.path, options)
  }

  /** One row. @throws {LaresError} `not_found` */
  get<T = Row>(key: string, options: ReadOptions = {}): Promise<T> {
    return this.scope.json(`${this.path}/rows/${encodePath(key)}`, options)
  }

  /**
   * Rows by filter and order. All pages speak of the version of the first.
   *
   * @example
   * for await (const row of session.table('notes').find({ where: { cost: { $gt: 3 } }, order: '-at' })) use(row)
   */
  find<T = Row>({ limit, cursor, signal, ...query }: RowsQuery = {}): List<T> {
    const source = (next: string | undefined): Promise<Page<T>> =>
      this.scope.askPage(`${this.path}/query`, { ...query, limit, cursor: next }, { signal })
    return new List(source, cursor)
  }
}

/** Rows of one table: `session.table('notes')`. Each write is one commit; `session.commit` makes several things one. */
export class Table extends TableReader {
  /** All of them or none. */
  insert(
    rows: readonly object[],
    { on_conflict, from, ...options }: InsertOptions = {},
  ): Promise<Committed & RowsWritten> {
    return this.#one({ op: 'row.insert', table: this.name, rows, on_conflict, from }, options)
  }

  update(
    where: Filter,
    set: object,
    { from, ...options }: WriteOptions & KeyedOptions = {},
  ): Promise<Committed & RowsWritten> {
    return this.#one({ op: 'row.update', table: this.name, where, set, from }, options)
  }

  delete(
    where: Filter,
    { from, ...options }: WriteOptions & KeyedOptions = {},
  ): Promise<Committed & RowsWritten> {
    return this.#one({ op: 'row.delete', table: this.name, where, from }, options)
  }

  /** Columns of one row. @throws {LaresError} `condition_failed` */
  patch(
    key: string,
    set: object,
    { if: condition, from, ...options }: WriteOptions & KeyedOptions = {},
  ): Promise<Committed & RowsWritten> {
    return this.#one({ op: 'row.update', table: this.name, key, set, if: condition, from }, options)
  }

  /** Computes a column again: every cell, or those that failed. */
  recompute(
    column: string,
    only: 'all' | 'failed' = 'all',
    options: WriteOptions = {},
  ): Promise<Committed & RowsWritten> {
    return this.#one({ op: 'row.recompute', table: this.name, column, only }, options)
  }

  async #one(op: Parameters<typeof single>[0], options: WriteOptions): Promise<Committed & RowsWritten> {
    const committed = await commit(this.scope, single(op), options)
    // The one result of the one operation.
    const { count, keys } = committed.results[0] as unknown as RowsWritten
    return { ...committed, count, keys }
  }
}

type RowOp = { op: 'row.insert' | 'row.update' | 'row.delete' | 'row.recompute' } & Record<string, unknown>

function single(op: RowOp): Parameters<typeof commit>[1] {
  // Checked where it is made, by the methods above, and by the edge.
  return { ops: [op] as unknown as Extract<Parameters<typeof commit>[1], { ops: unknown }>['ops'] }
}

/** Which tables there are. */
export class TablesReader {
  protected readonly scope: Scope

  constructor(scope: Scope) {
    this.scope = scope
  }

  list(options: PageOptions = {}): List<TableShown> {
    return this.scope.list('/tables', {}, options)
  }

  get(name: string, options: ReadOptions = {}): Promise<TableShown> {
    return this.scope.json(`/tables/${encodeURIComponent(name)}`, options)
  }
}

/**
 * Tables of a session: `session.tables`.
 *
 * @example
 * await session.tables.define('notes', { columns: { id: 'int', title: 'string' }, key: 'id' })
 * await session.table('notes').insert([{ id: 1, title: 'hello' }])
 */
export class Tables extends TablesReader {
  /** Makes the table, or adds the columns it lacks. */
  define(name: string, definition: TableDefinition, options: WriteOptions = {}): Promise<Committed> {
    return this.scope.write(
      `/tables/${encodeURIComponent(name)}`,
      { method: 'PUT', ...jsonBody(definition), read: (response) => response.json() as Promise<Committed> },
      options,
    )
  }

  /** Renames, drops, adds and changes columns, in this order. */
  alter(name: string, changes: TableChanges, options: WriteOptions = {}): Promise<Committed> {
    return this.scope.send('PATCH', `/tables/${encodeURIComponent(name)}`, changes, options)
  }

  drop(name: string, options: WriteOptions = {}): Promise<Committed> {
    return this.scope.send('DELETE', `/tables/${encodeURIComponent(name)}`, undefined, options)
  }
}
