// A world as it was: `session.at(…)`. It can only be read, and what it says at a version never changes.

import { FilesReader } from './files.ts'
import { LogReader } from './log.ts'
import { MemoryReader } from './memory.ts'
import type { At } from './paths.ts'
import { type LineageOptions, lineage, type QueryOptions, query } from './query.ts'
import type { Scope } from './scope.ts'
import { StateReader } from './state.ts'
import { TableReader, TablesReader } from './tables.ts'
import type { LineageShown, SqlAnswer } from './types.ts'

export class View {
  /** The point asked for. */
  readonly at: At
  readonly log: LogReader
  readonly state: StateReader
  readonly files: FilesReader
  readonly tables: TablesReader
  readonly memory: MemoryReader
  readonly #scope: Scope

  constructor(scope: Scope, at: At) {
    const then = scope.with({ at })
    this.at = at
    this.log = new LogReader(then)
    this.state = new StateReader(then)
    this.files = new FilesReader(then)
    this.tables = new TablesReader(then)
    this.memory = new MemoryReader(then)
    this.#scope = then
  }

  /** Rows of one table. */
  table(name: string): TableReader {
    return new TableReader(this.#scope, name)
  }

  /** One SELECT over the world as it was. @throws {LaresError} `sql_error` */
  query(sql: string, options: QueryOptions = {}): Promise<SqlAnswer> {
    return query(this.#scope, sql, options)
  }

  /** What made a thing, or what came of it, as far as was known then. */
  lineage(of: string, options: LineageOptions = {}): Promise<LineageShown> {
    return lineage(this.#scope, of, options)
  }
}
