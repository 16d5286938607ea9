// One agent's world: what a program holds to work with it. Making a handle sends nothing.

import { type ExportOptions, exportArchive } from './archive.ts'
import { type CommitOptions, Commits, type Compose, commit } from './commits.ts'
import { LaresError } from './errors.ts'
import { Files } from './files.ts'
import { Lease, type LeaseGrant, type LeaseOptions } from './lease.ts'
import type { List } from './list.ts'
import { Log } from './log.ts'
import { Memories } from './memory.ts'
import type { At } from './paths.ts'
import { type LineageOptions, lineage, type QueryOptions, query, querySchema, Views } from './query.ts'
import { jsonBody, type ReadOptions, type Scope, type WriteOptions } from './scope.ts'
import { Snapshots } from './snapshots.ts'
import { State } from './state.ts'
import { Table, Tables } from './tables.ts'
import { type TailItem, type TailOptions, tail } from './tail.ts'
import {
  type DiffOptions,
  diff,
  erase,
  type ForkOptions,
  fork,
  type Merged,
  type MergeOptions,
  merge,
  type Reverted,
  type RevertOptions,
  revert,
  verify,
} from './time.ts'
import type {
  Committed,
  Difference,
  LineageShown,
  Op,
  SessionCreate,
  SessionPatch,
  SessionShown,
  SqlAnswer,
  Verified,
} from './types.ts'
import { View } from './view.ts'

/**
 * A session's handle.
 *
 * @example
 * const session = new Lares({ url, token }).session('agent-1')
 * await session.ensure({ title: 'Fix the build' })
 * await session.commit((tx) => {
 *   tx.log.append({ payload: { role: 'assistant', content: 'On it.' } })
 *   tx.state.set('status', 'running')
 * })
 */
export class Session {
  /** Its name. */
  readonly id: string
  readonly log: Log
  readonly state: State
  readonly files: Files
  readonly memory: Memories
  readonly commits: Commits
  readonly snapshots: Snapshots
  readonly tables: Tables
  readonly views: Views
  readonly #scope: Scope

  constructor(scope: Scope) {
    this.#scope = scope
    this.id = scope.session
    this.log = new Log(scope)
    this.state = new State(scope)
    this.files = new Files(scope)
    this.memory = new Memories(scope)
    this.commits = new Commits(scope)
    this.snapshots = new Snapshots(scope)
    this.tables = new Tables(scope)
    this.views = new Views(scope)
  }

  /** Rows of one table. */
  table(name: string): Table {
    return new Table(this.#scope, name)
  }

  /**
   * One SELECT over log, state, memory, files, commits, history, lineage, tables and views.
   *
   * @throws {LaresError} `sql_error`
   * @example
   * const { rows } = await session.query('SELECT title FROM notes WHERE cost > ?', { params: [3] })
   */
  query(sql: string, options: QueryOptions = {}): Promise<SqlAnswer> {
    return query(this.#scope, sql, options)
  }

  /** What can be asked by `query`, in JSON that a language model reads before it writes SQL. */
  querySchema(options: ReadOptions = {}): Promise<Record<string, unknown>> {
    return querySchema(this.#scope, options)
  }

  /** What made a thing, or what came of it. */
  lineage(of: string, options: LineageOptions = {}): Promise<LineageShown> {
    return lineage(this.#scope, of, options)
  }

  /**
   * The whole world as one tar, as it arrives. Read it to its end or `cancel()` it.
   *
   * @throws {LaresError} `no_such_version`
   * @example await writeFile('agent-1.tar', await session.export({ journal: true }))
   */
  export(options: ExportOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return exportArchive(this.#scope, options)
  }

  /**
   * Brings a session back whose storage was lost, as it was at a snapshot. Takes the scope `admin`.
   *
   * @throws {LaresError} `exists` when nothing was lost; `not_found` when the catalog knows of no such snapshot
   */
  restore(snapshot: string, options: WriteOptions = {}): Promise<SessionShown> {
    return this.#scope.send('POST', '/restore', { snapshot }, options)
  }

  /** Makes the session if it is not there; one that is there stays as it is. `created` tells which. */
  ensure(init: SessionCreate = {}, options: WriteOptions = {}): Promise<SessionShown & { created: boolean }> {
    const call = { method: 'PUT' as const, ...jsonBody(init), read: readEnsured }
    return this.#scope.write('', call, options)
  }

  /**
   * Makes the session.
   *
   * @throws {LaresError} `exists` when it is there already; `gone` when it was deleted
   */
  async create(init: SessionCreate = {}, options: WriteOptions = {}): Promise<SessionShown> {
    const { created, ...session } = await this.ensure(init, options)
    if (created) return session
    throw new LaresError({ status: 409, code: 'exists', detail: `the session ${this.id} is already there` })
  }

  /** @throws {LaresError} `not_found`; `gone` when it was deleted */
  get(options: ReadOptions = {}): Promise<SessionShown> {
    return this.#scope.json('', options)
  }

  /** Merge patch: null takes a member away. */
  patch(patch: SessionPatch, options: WriteOptions = {}): Promise<SessionShown> {
    return this.#scope.send('PATCH', '', patch, options)
  }

  /** Deletes the session and its name, for good. */
  async delete(options: WriteOptions = {}): Promise<void> {
    await this.#scope.send('DELETE', '', undefined, options)
  }

  /**
   * One atomic change of any mix of kinds: all of it or nothing.
   *
   * Bytes given to `tx.files.put` are uploaded first, then named by the commit.
   *
   * @throws {LaresError} `version_mismatch` (has `head`), `condition_failed` (has `pointer`), `fenced`, `invalid`, `exists`
   * @throws {NetworkError} it may have happened or not: call again with the same `idempotency_key` to know
   * @example
   * const { version } = await session.commit((tx) => tx.state.add('turns', 1), { message: 'a turn', expect: 41 })
   */
  commit(what: Compose | { ops: readonly Op[] }, options: CommitOptions = {}): Promise<Committed> {
    return commit(this.#scope, what, options)
  }

  /** The world as it was at a version, a time, or a snapshot (`snap:NAME`). */
  at(at: At): View {
    return new View(this.#scope, at)
  }

  /**
   * Follows the world: each commit once, in order, reconnecting by itself, until the signal aborts or the loop is left.
   *
   * @example
   * for await (const item of session.tail({ after: 17 })) {
   *   if (item.event === 'gap') await reload(item.head)
   *   else apply(item)
   * }
   */
  tail(options: TailOptions = {}): AsyncGenerator<TailItem, void, undefined> {
    return tail(this.#scope, options)
  }

  /** @throws {LaresError} `leased` while someone else holds it; `forbidden` to steal without the scope */
  async lease(options: LeaseOptions): Promise<Lease> {
    const { signal, ...body } = options
    const grant = await this.#scope.send<LeaseGrant>('POST', '/lease', body, { signal })
    const held = this.#scope.with({ lease: grant.token })
    return new Lease(held, new Session(held), options, grant)
  }

  /**
   * A new session that begins as this one was at a version; answers its handle.
   *
   * @throws {LaresError} `exists` when the name is taken; `no_such_version`; `gone`
   * @example
   * const attempt = await session.fork({ at: 'snap:before' })
   */
  async fork(options: ForkOptions = {}): Promise<Session> {
    return new Session(this.#scope.of(await fork(this.#scope, options)))
  }

  /** What differs between two points of this session, or between this one and another. */
  diff(options: DiffOptions): List<Difference> {
    return diff(this.#scope, options)
  }

  /** Makes the world what it was, as a new version. */
  revert(to: At, options: RevertOptions = {}): Promise<Reverted> {
    return revert(this.#scope, to, options)
  }

  /**
   * Brings over what another session of the same origin changed, as one commit.
   *
   * @throws {LaresError} `merge_conflict` (has `conflicts`) when both changed the same and nothing says which counts
   */
  merge(from: string | Session, options: MergeOptions = {}): Promise<Merged> {
    return merge(this.#scope, typeof from === 'string' ? from : from.id, false, options)
  }

  /** What a merge would do: how much it would bring, and every conflict. Writes nothing. */
  previewMerge(from: string | Session, options: MergeOptions = {}): Promise<Merged> {
    return merge(this.#scope, typeof from === 'string' ? from : from.id, true, options)
  }

  /** Recomputes every digest and names what does not match. */
  verify(options: ReadOptions = {}): Promise<Omit<Verified, 'next'>> {
    return verify(this.#scope, options)
  }

  /** Takes values away for good, everywhere; reads of them are `gone`. */
  erase(
    refs: readonly string[],
    options: WriteOptions & { message?: string | undefined } = {},
  ): Promise<{ version: number; erased: number }> {
    return erase(this.#scope, refs, options)
  }

  /** The same session, written with a lease token that was got elsewhere. */
  withLease(token: string): Session {
    return new Session(this.#scope.with({ lease: token }))
  }
}

async function readEnsured(response: Response): Promise<SessionShown & { created: boolean }> {
  // What the contract says it is.
  const session = (await response.json()) as SessionShown
  return { ...session, created: response.status === 201 }
}
