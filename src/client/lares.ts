// The client: where the edge is and who is asking.

import { type Archive, type ImportOptions, importArchive } from './archive.ts'
import { List, type PageOptions } from './list.ts'
import type { Query } from './paths.ts'
import type { RetryOptions } from './retry.ts'
import { jsonBody, readJson, readPage, Scope, type WriteOptions } from './scope.ts'
import { Session } from './session.ts'
import { type TokenSource, Transport } from './transport.ts'
import type { SessionCreate, SessionListed, SessionShown } from './types.ts'

export interface LaresOptions {
  /** The edge, such as `https://lares.example.com`. */
  url: string
  /** An API key, a session token, or a function that gives one. */
  token: TokenSource
  /** Instead of the global `fetch`. */
  fetch?: typeof fetch
  retry?: RetryOptions
}

export interface SessionListOptions extends PageOptions {
  /** Only sessions that have all of these. */
  labels?: Record<string, string>
  /** Only ids that begin so. */
  prefix?: string
  /** Words of the title. */
  q?: string
  updated_after?: string | Date
  order?: 'updated' | 'created' | 'id'
}

/**
 * A client of one fleet. Runs wherever there is `fetch`.
 *
 * @example
 * import { Lares } from 'lares'
 * const lares = new Lares({ url: 'http://127.0.0.1:8787', token: process.env.LARES_KEY })
 * const session = await lares.sessions.create('agent-1', { labels: { team: 'docs' } })
 */
export class Lares {
  readonly sessions: Sessions
  readonly #transport: Transport

  constructor(options: LaresOptions) {
    this.#transport = new Transport(options)
    this.sessions = new Sessions(this.#transport)
  }

  /**
   * A session's handle. Sends nothing.
   *
   * @throws {LaresError} `invalid`: no session can have this id
   */
  session(id: string): Session {
    return new Session(new Scope({ transport: this.#transport, session: id }))
  }

  /**
   * Makes a session of an archive.
   *
   * @throws {LaresError} `exists`; `invalid` or `digest_mismatch`, with the member in which something is wrong as `pointer`
   * @example const copy = await lares.import(await session.export({ journal: true }), { session: 'agent-1-copy' })
   */
  async import(archive: Archive, options: ImportOptions): Promise<Session> {
    const session = this.session(options.session)
    await importArchive(this.#transport, archive, options)
    return session
  }
}

/** The fleet's sessions: `lares.sessions`. */
export class Sessions {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Sessions, from the fleet's catalog: it may lag behind, and each item says how far (`projected_version`). */
  list({ labels = {}, limit, cursor, signal, ...filter }: SessionListOptions = {}): List<SessionListed> {
    const query: Query = { ...filter, limit }
    for (const [name, value] of Object.entries(labels)) query[`label.${name}`] = value
    const page = (from: string | undefined) =>
      this.#transport.call({
        method: 'GET',
        path: '/v1/sessions',
        query: { ...query, cursor: from },
        signal,
        read: readPage<SessionListed>,
      })
    return new List(page, cursor)
  }

  /**
   * Makes a session; without an id, the edge names it.
   *
   * @throws {LaresError} `exists`, `gone` (the name was used and deleted)
   */
  async create(id?: string, init: SessionCreate = {}, options: WriteOptions = {}): Promise<Session> {
    if (id === undefined) return this.#handle(await this.#nameless(init, options))
    const session = this.#handle(id)
    await session.create(init, options)
    return session
  }

  async #nameless(init: SessionCreate, { idempotency_key, signal }: WriteOptions): Promise<string> {
    const { body, headers } = jsonBody(init)
    const { session } = await this.#transport.call({
      method: 'POST',
      path: '/v1/sessions',
      headers: { ...headers, 'idempotency-key': idempotency_key ?? crypto.randomUUID() },
      body,
      signal,
      read: readJson<SessionShown>,
    })
    return session
  }

  #handle(id: string): Session {
    return new Session(new Scope({ transport: this.#transport, session: id }))
  }
}
