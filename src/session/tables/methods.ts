// The part of a Session's surface that is its catalog: tables, rows, views, SQL, lineage.

import type { Outcome } from '../../protocol/errors.ts'
import { type LineageQuery, type LineageShown, lineage } from '../lineage.ts'
import { describeSchema } from '../query/describe.ts'
import { runQuery, type SqlAnswer, type SqlQuery } from '../query/run.ts'
import type { At, PageQuery, PageRead } from '../rpc.ts'
import { ArchiveMethods } from '../time/archive-methods.ts'
import {
  listRows,
  listTables,
  listViews,
  type RowsQuery,
  type Shown,
  showRowAt,
  showTableAt,
  showView,
} from './read.ts'

export interface TableRpc {
  readTable(name: string, at: At): Promise<Outcome<Shown>>
  listTables(query: PageQuery): Promise<Outcome<PageRead>>
  readView(name: string, at: At): Promise<Outcome<Shown>>
  listViews(query: PageQuery): Promise<Outcome<PageRead>>
  readRow(table: string, key: string, at: At): Promise<Outcome<Shown>>
  listRows(query: RowsQuery): Promise<Outcome<PageRead>>
  query(query: SqlQuery): Promise<Outcome<SqlAnswer>>
  querySchema(at: At): Promise<Outcome<{ version: number; text: string }>>
  lineage(query: LineageQuery): Promise<Outcome<LineageShown>>
}

export abstract class TableMethods extends ArchiveMethods implements TableRpc {
  async readTable(name: string, at: At) {
    return this.with((world) => showTableAt(world, name, at))
  }

  async listTables(query: PageQuery) {
    return this.with((world) => listTables(world, query))
  }

  async readView(name: string, at: At) {
    return this.with((world) => showView(world, name, at))
  }

  async listViews(query: PageQuery) {
    return this.with((world) => listViews(world, query))
  }

  async readRow(table: string, key: string, at: At) {
    return this.with((world) => showRowAt(world, table, key, at))
  }

  async listRows(query: RowsQuery) {
    return this.with((world) => listRows(world, query))
  }

  async query(query: SqlQuery) {
    return this.with((world) => runQuery(world, query))
  }

  async querySchema(at: At) {
    return this.with((world) => describeSchema(world, at))
  }

  async lineage(query: LineageQuery) {
    return this.with((world) => lineage(world, query))
  }
}
