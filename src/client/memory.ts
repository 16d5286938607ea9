// Memory: texts kept to be found again, by their words, by what they are near to, or by both.

import { LaresError } from './errors.ts'
import type { List, PageOptions } from './list.ts'
import { encodePath } from './paths.ts'
import type { ReadOptions, Scope, WriteOptions } from './scope.ts'
import type {
  Filter,
  Memory,
  MemoryFields,
  MemoryPatch,
  MemorySettings,
  MemoryState,
  RecallAnswer,
} from './types.ts'

export interface MemoryListOptions extends PageOptions {
  /** Only memories that have this tag. */
  tag?: string | undefined
  filter?: Filter | undefined
  pinned?: boolean | undefined
}

export interface RecallOptions extends ReadOptions {
  /** How many, 1 to 200; default 10. */
  k?: number | undefined
  /** Default `hybrid`, or `vector` where there is only a vector. */
  mode?: 'text' | 'vector' | 'hybrid' | undefined
  /** Applied before the nearest are chosen. */
  filter?: Filter | undefined
  /** A memory must have all of them. */
  tags?: readonly string[] | undefined
  /** Of the question, by the session's own model; for text alone it is made where the session's provider can. */
  vector?: readonly number[] | undefined
}

/** What was written, and under which id. */
export interface MemoryWritten {
  id: string
  version: number
  at: string
  digest: string
}

/** Memory as it is read: at the head, or at a point of history. */
export class MemoryReader {
  protected readonly scope: Scope

  constructor(scope: Scope) {
    this.scope = scope
  }

  /**
   * The memory, or undefined when there is none, or it has expired.
   *
   * @throws {LaresError} `not_found` when it is the session that is not there, `gone` when the memory was erased
   */
  async get(id: string, options: ReadOptions = {}): Promise<Memory | undefined> {
    try {
      return await this.scope.json<Memory>(`/memories/${encodePath(id)}`, options)
    } catch (error) {
      // An answer about a session has its version; without one, the session itself is what was not found.
      if (LaresError.is(error, 'not_found') && error.version !== undefined) return undefined
      throw error
    }
  }

  /** Memories in the order of their ids. */
  list({ tag, filter, pinned, ...page }: MemoryListOptions = {}): List<Memory> {
    const query = { tag, pinned, filter: filter === undefined ? undefined : JSON.stringify(filter) }
    return this.scope.list('/memories', query, page)
  }

  /**
   * The memories that answer a question, the best first; each with its score and what each half said of it.
   *
   * @param query words; null to ask by `vector` alone
   * @throws {LaresError} `invalid` with a pointer: an unknown name in the filter, a vector of another size
   * @example
   * const { items } = await session.memory.recall('what does Ada drink?', { k: 3, filter: { '/meta/about': 'ada' } })
   */
  recall(query: string | null, { signal, ...options }: RecallOptions = {}): Promise<RecallAnswer> {
    return this.scope.ask('/recall', { query: query ?? undefined, ...options }, { signal })
  }
}

/**
 * The memory of a session: `session.memory`. Each write is one commit; use `session.commit` to make several things one.
 *
 * @example
 * const { id } = await session.memory.add('Ada takes her tea without milk', { tags: ['person'], meta: { about: 'ada' } })
 * await session.memory.update(id, { text: 'Ada takes her tea with milk' })
 */
export class Memories extends MemoryReader {
  add(
    text: string,
    fields: Omit<MemoryFields, 'text'> = {},
    options: WriteOptions = {},
  ): Promise<MemoryWritten> {
    return this.scope.send('POST', '/memories', { text, ...fields }, options)
  }

  /** What is not named stays; `meta` is merged (RFC 7396). */
  update(id: string, changes: MemoryPatch, options: WriteOptions = {}): Promise<MemoryWritten> {
    return this.scope.send('PATCH', `/memories/${encodePath(id)}`, changes, options)
  }

  /** @throws {LaresError} `not_found` when there is none */
  forget(id: string, options: WriteOptions = {}): Promise<MemoryWritten> {
    return this.scope.send('DELETE', `/memories/${encodePath(id)}`, undefined, options)
  }

  /** A pinned memory does not expire. */
  pin(id: string, options: WriteOptions = {}): Promise<MemoryWritten> {
    return this.update(id, { pinned: true }, options)
  }

  unpin(id: string, options: WriteOptions = {}): Promise<MemoryWritten> {
    return this.update(id, { pinned: false }, options)
  }

  /** Which vectors the session's memory has. */
  settings(options: ReadOptions = {}): Promise<MemoryState> {
    return this.scope.json('/memory', options)
  }

  /** Chooses the provider and model of vectors. Memories with vectors of another are found by their words until `reembed`. */
  configure(settings: MemorySettings, options: WriteOptions = {}): Promise<{ version: number }> {
    return this.scope.send('PUT', '/memory', settings, options)
  }

  /**
   * Embeds what has no vector of the chosen model, a step at a time, until nothing is left or nothing more can be done.
   *
   * @returns how many were embedded
   */
  async reembed(options: ReadOptions = {}): Promise<number> {
    for (let embedded = 0; ; ) {
      const step = await this.scope.send<{ embedded: number; missing: number }>(
        'POST',
        '/memory/reembed',
        {},
        options,
      )
      embedded += step.embedded
      if (step.missing === 0 || step.embedded === 0) return embedded
    }
  }
}
