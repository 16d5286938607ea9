// What a commit is going to do, collected call by call. Nothing is sent here, so a callback that throws has done nothing.

import { type FileSource, typeOf } from './bytes.ts'
import type { FileMode, Filter, NewEvent, Op, OpFields, TableChanges, TableDefinition } from './types.ts'

/**
 * The operations of one commit, in order.
 *
 * @example
 * await session.commit((tx) => {
 *   tx.log.append({ type: 'tool_result', payload: { call_id: 'c1', output: 'ok' } })
 *   tx.state.set('cursor', 5, { if: { version: 17 } })
 *   tx.files.put('out/report.md', '# Report\n', { type: 'text/markdown' })
 * })
 */
export class Transaction {
  readonly ops: PendingOp[] = []
  readonly log = new LogOps(this.ops)
  readonly state = new StateOps(this.ops)
  readonly files = new FileOps(this.ops)
  readonly tables = new TableOps(this.ops)
  readonly memory = new MemoryOps(this.ops)

  /** Any operation, as the API spells it. */
  add(op: Op): void {
    this.ops.push(op)
  }
}

/** A condition and inputs, on any operation with a key. */
export type KeyedOptions = Pick<OpFields<'state.set'>, 'if' | 'from'>

/** What a file is, beside its bytes. */
export interface FileAttributes {
  /** Media type. Unless given: of a Blob its own, of a string `text/plain; charset=utf-8`, else `application/octet-stream`. */
  type?: string | undefined
  /** `100644` (default), `100755`, or `120000`, a link whose target is the content. */
  mode?: FileMode | undefined
  /** RFC 3339. */
  mtime?: string | Date | undefined
}

/** One path, or every path that begins with a prefix. */
export type FileTarget = string | { prefix: string }

/** A file operation whose bytes are not in the store yet. */
export interface PendingFile {
  op: OpFields<'file.put', 'blob'> & { op: 'file.put' }
  content: FileSource
}

export type PendingOp = Op | PendingFile

/** `tx.log` */
export class LogOps {
  readonly #ops: PendingOp[]

  constructor(ops: PendingOp[]) {
    this.#ops = ops
  }

  append(what: NewEvent | readonly NewEvent[]): void {
    for (const event of isList(what) ? what : [what]) this.#ops.push({ op: 'log.append', ...event })
  }
}

/** `tx.state` */
export class StateOps {
  readonly #ops: PendingOp[]

  constructor(ops: PendingOp[]) {
    this.#ops = ops
  }

  set(key: string, value: unknown, options: KeyedOptions = {}): void {
    this.#ops.push({ op: 'state.set', key, value, ...options })
  }

  /** RFC 7396: members of `patch` replace, null takes away. */
  patch(key: string, patch: unknown, options: KeyedOptions = {}): void {
    this.#ops.push({ op: 'state.patch', key, patch, ...options })
  }

  /** Adds to a number; an absent one counts as 0. */
  add(key: string, by: number, options: KeyedOptions = {}): void {
    this.#ops.push({ op: 'state.add', key, by, ...options })
  }

  delete(key: string, options: KeyedOptions = {}): void {
    this.#ops.push({ op: 'state.delete', key, ...options })
  }
}

/** `tx.tables` */
export class TableOps {
  readonly #ops: PendingOp[]

  constructor(ops: PendingOp[]) {
    this.#ops = ops
  }

  define(table: string, definition: TableDefinition): void {
    this.#ops.push({ op: 'table.define', table, ...definition })
  }

  alter(table: string, { drop, ...changes }: TableChanges): void {
    this.#ops.push({
      op: 'table.alter',
      table,
      ...changes,
      ...(drop === undefined ? {} : { drop: [...drop] }),
    })
  }

  drop(table: string): void {
    this.#ops.push({ op: 'table.drop', table })
  }

  insert(
    table: string,
    rows: readonly object[],
    options: Pick<OpFields<'row.insert'>, 'on_conflict' | 'from'> = {},
  ): void {
    this.#ops.push({ op: 'row.insert', table, rows, ...options })
  }

  /** Rows that a filter finds, or the one with a key. */
  update(table: string, which: Filter | string, set: object, options: KeyedOptions = {}): void {
    this.#ops.push({ op: 'row.update', table, ...chosen(which), set, ...options })
  }

  delete(table: string, which: Filter | string, options: KeyedOptions = {}): void {
    this.#ops.push({ op: 'row.delete', table, ...chosen(which), ...options })
  }
}

function chosen(which: Filter | string): { key: string } | { where: Filter } {
  return typeof which === 'string' ? { key: which } : { where: which }
}

/** `tx.files` */
export class FileOps {
  readonly #ops: PendingOp[]

  constructor(ops: PendingOp[]) {
    this.#ops = ops
  }

  /** A file made of bytes, which the SDK uploads before it commits, or of a blob that is there already. */
  put(path: string, content: FileSource, attributes?: FileAttributes & KeyedOptions): void
  put(file: OpFields<'file.put'>): void
  put(
    file: OpFields<'file.put'> | string,
    content: FileSource = '',
    { type = typeOf(content), mtime, ...attributes }: FileAttributes & KeyedOptions = {},
  ): void {
    if (typeof file !== 'string') this.#ops.push({ op: 'file.put', ...file })
    else
      this.#ops.push({ op: { op: 'file.put', path: file, type, mtime: time(mtime), ...attributes }, content })
  }

  copy(from: FileTarget, to: string, options: KeyedOptions = {}): void {
    this.#ops.push({ op: 'file.copy', ...target(from), to, ...options })
  }

  move(from: FileTarget, to: string, options: KeyedOptions = {}): void {
    this.#ops.push({ op: 'file.move', ...target(from), to, ...options })
  }

  delete(path: FileTarget, options: KeyedOptions = {}): void {
    this.#ops.push({ op: 'file.delete', ...target(path), ...options })
  }
}

/** `tx.memory`; an id that is not given is in the commit's results. */
export class MemoryOps {
  readonly #ops: PendingOp[]

  constructor(ops: PendingOp[]) {
    this.#ops = ops
  }

  add(text: string, fields: Omit<OpFields<'memory.add'>, 'text'> = {}): void {
    this.#ops.push({ op: 'memory.add', text, ...fields })
  }

  /** What is not named stays; `meta` is merged (RFC 7396). */
  update(id: string, changes: Omit<OpFields<'memory.update'>, 'id'>): void {
    this.#ops.push({ op: 'memory.update', id, ...changes })
  }

  forget(id: string, options: KeyedOptions = {}): void {
    this.#ops.push({ op: 'memory.forget', id, ...options })
  }
}

function target(named: FileTarget): { path: string } | { prefix: string } {
  return typeof named === 'string' ? { path: named } : { prefix: named.prefix }
}

export function time(at: string | Date | undefined): string | undefined {
  return at instanceof Date ? at.toISOString() : at
}

/** `Array.isArray` does not narrow a readonly array. */
export function isList<T>(value: T | readonly T[]): value is readonly T[] {
  return Array.isArray(value)
}
