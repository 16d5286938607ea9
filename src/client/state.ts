// Structured state: JSON values under keys. Absent is `undefined`, and null is a value like any other.

import { commit } from './commits.ts'
import { LaresError } from './errors.ts'
import { numberIn } from './headers.ts'
import type { List, PageOptions } from './list.ts'
import { encodePath } from './paths.ts'
import { type ReadOptions, readJson, type Scope, type WriteOptions } from './scope.ts'
import type { KeyedOptions, Transaction } from './transaction.ts'
import type { Committed, Json, StateItem } from './types.ts'

export interface StateListOptions extends PageOptions {
  /** Only keys that begin so, as text. */
  prefix?: string
}

/** A value and where it comes from. */
export interface StateEntry<T = Json> {
  value: T
  /** The version that wrote it: what `if: { version }` compares with. */
  since: number
  /** Strong; names the value. */
  etag: string
}

export interface StateWriteOptions extends WriteOptions, KeyedOptions {
  /** The version that the world must be at. */
  expect?: number | undefined
}

/** State as it is read: at the head, or at a point of history. */
export class StateReader {
  protected readonly scope: Scope

  constructor(scope: Scope) {
    this.scope = scope
  }

  /** The value, or undefined when there is none. */
  async get<T = Json>(key: string, options: ReadOptions = {}): Promise<T | undefined> {
    return (await this.getEntry<T>(key, options))?.value
  }

  /**
   * The value with the version that wrote it and its ETag, or undefined when there is none.
   *
   * @throws {LaresError} `not_found` when it is the session that is not there, `gone` when the value was erased
   */
  async getEntry<T = Json>(key: string, options: ReadOptions = {}): Promise<StateEntry<T> | undefined> {
    try {
      return await this.scope.read(`/state/${encodePath(key)}`, { ...options, read: readEntry<T> })
    } catch (error) {
      // An answer about a session has its version; without one, the session itself is what was not found.
      if (LaresError.is(error, 'not_found') && error.version !== undefined) return undefined
      throw error
    }
  }

  /** Entries in the order of their keys. */
  list<T = Json>({ prefix, ...page }: StateListOptions = {}): List<StateItem<T>> {
    return this.scope.list('/state', { prefix }, page)
  }
}

/**
 * The state of a session: `session.state`. Each write is one commit; use `session.commit` to make several things one.
 *
 * @example
 * await session.state.set('plan', { steps: ['read', 'fix'] })
 * await session.state.set('plan', plan, { if: { version: entry.since } }) // condition_failed if someone was faster
 */
export class State extends StateReader {
  set(key: string, value: unknown, options: StateWriteOptions = {}): Promise<Committed> {
    return this.#one(options, (tx, on) => tx.state.set(key, value, on))
  }

  /** RFC 7396 merge patch. */
  patch(key: string, patch: unknown, options: StateWriteOptions = {}): Promise<Committed> {
    return this.#one(options, (tx, on) => tx.state.patch(key, patch, on))
  }

  /** Adds to a number; an absent one counts as 0. */
  add(key: string, by: number, options: StateWriteOptions = {}): Promise<Committed> {
    return this.#one(options, (tx, on) => tx.state.add(key, by, on))
  }

  delete(key: string, options: StateWriteOptions = {}): Promise<Committed> {
    return this.#one(options, (tx, on) => tx.state.delete(key, on))
  }

  #one(
    { if: condition, from, ...options }: StateWriteOptions,
    compose: (tx: Transaction, on: KeyedOptions) => void,
  ): Promise<Committed> {
    return commit(this.scope, (tx) => compose(tx, { if: condition, from }), options)
  }
}

async function readEntry<T>(response: Response): Promise<StateEntry<T>> {
  const value = await readJson<T>(response)
  return {
    value,
    since: numberIn(response.headers, 'lares-since') ?? 0,
    etag: response.headers.get('etag') ?? '',
  }
}
