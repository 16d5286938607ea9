// Moments of a world by name.

import type { List, PageOptions } from './list.ts'
import { type At, pointOf } from './paths.ts'
import type { ReadOptions, Scope, WriteOptions } from './scope.ts'
import type { SnapshotObject, SnapshotShown } from './types.ts'

export interface SnapshotOptions extends WriteOptions {
  /** The version, time or snapshot to name; the head when absent. */
  at?: At | undefined
  message?: string | undefined
}

export class Snapshots {
  readonly #scope: Scope

  constructor(scope: Scope) {
    this.#scope = scope
  }

  /**
   * Names a moment for ever: `at('snap:NAME')` reads it.
   *
   * @throws {LaresError} `exists` when the name is taken; `no_such_version`; `corrupt` when a blob is missing
   * @example
   * const { root } = await session.snapshots.take('before-the-refactoring')
   */
  take(name: string, { at, message, ...options }: SnapshotOptions = {}): Promise<SnapshotShown> {
    return this.#scope.send(
      'POST',
      '/snapshots',
      { name, at: at === undefined ? undefined : pointOf(at), message },
      options,
    )
  }

  list(options: PageOptions = {}): List<SnapshotShown> {
    return this.#scope.list('/snapshots', {}, options)
  }

  get(name: string, options: ReadOptions = {}): Promise<SnapshotShown> {
    return this.#scope.json(`/snapshots/${encodeURIComponent(name)}`, options)
  }

  /** Every object in R2 that the snapshot consists of, each with its SHA-256 and size. */
  objects(name: string, options: PageOptions = {}): List<SnapshotObject> {
    return this.#scope.list(`/snapshots/${encodeURIComponent(name)}/objects`, {}, options)
  }

  /** Forgets the name; the version stays as long as the session's retention keeps it. */
  async drop(name: string, options: WriteOptions = {}): Promise<void> {
    await this.#scope.send('DELETE', `/snapshots/${encodeURIComponent(name)}`, undefined, options)
  }
}
