// Whose requests these are: one session, at one point of its history or at its head, with or without a lease. Every part
// of a session's handle (log, state, files …) speaks through its scope.

import { sessionIdPattern, sessionIdRule } from '../protocol/names.ts'
import { invalid } from './errors.ts'
import { numberIn } from './headers.ts'
import { encodeJson } from './json.ts'
import { List, type Page, type PageOptions } from './list.ts'
import type { At, Query } from './paths.ts'
import type { Call, Transport } from './transport.ts'

/** What every read takes. */
export interface ReadOptions {
  signal?: AbortSignal | undefined
}

/** What every write takes. */
export interface WriteOptions {
  /** At most 255 characters. Made up for each call when absent; give your own to make a call safe to repeat across restarts. */
  idempotency_key?: string | undefined
  signal?: AbortSignal | undefined
}

export interface ScopeOptions {
  transport: Transport
  session: string
  at?: At | undefined
  lease?: string | undefined
}

type Parts<T> = Omit<Call<T>, 'path'>

export class Scope {
  readonly transport: Transport
  readonly session: string
  readonly at: At | undefined
  readonly lease: string | undefined
  readonly #base: string

  constructor({ transport, session, at, lease }: ScopeOptions) {
    this.transport = transport
    this.session = session
    this.at = at
    this.lease = lease
    // Not only encoded: an id with a slash in it would speak to something else.
    if (!sessionIdPattern.test(session))
      throw invalid(`${JSON.stringify(session)} is not a session id: ${sessionIdRule}`)
    this.#base = `/v1/sessions/${encodeURIComponent(session)}`
  }

  with(change: { at?: At; lease?: string }): Scope {
    return new Scope({
      transport: this.transport,
      session: this.session,
      at: this.at,
      lease: this.lease,
      ...change,
    })
  }

  /** Another session's head, without this one's lease. */
  of(session: string): Scope {
    return new Scope({ transport: this.transport, session })
  }

  /** A read under the session, at the scope's point of history. `path` is '' for the session itself. */
  read<T>(path: string, parts: Omit<Parts<T>, 'method'> & { method?: 'GET' | 'HEAD' }): Promise<T> {
    const query = { ...parts.query, at: this.at }
    return this.transport.call({ method: 'GET', ...parts, query, path: this.#base + path })
  }

  json<T>(path: string, options: ReadOptions & { query?: Query; patience_ms?: number } = {}): Promise<T> {
    return this.read<T>(path, { ...options, read: (response) => response.json() as Promise<T> })
  }

  list<T>(path: string, query: Query, options: PageOptions): List<T> {
    const source = (cursor: string | undefined): Promise<Page<T>> =>
      this.read(path, {
        query: { ...query, limit: options.limit, cursor },
        signal: options.signal,
        read: readPage<T>,
      })
    return new List(source, options.cursor)
  }

  /** A question too long for a URL: a POST that writes nothing, at the scope's point of history. */
  ask<T>(path: string, body: object, options: ReadOptions, read = readJson<T>): Promise<T> {
    const at = this.at instanceof Date ? this.at.toISOString() : this.at
    const call = { method: 'POST' as const, ...jsonBody({ ...body, at }), read, signal: options.signal }
    return this.transport.call({ ...call, path: this.#base + path })
  }

  /** The same, answered by a page of a list. */
  askPage<T>(path: string, body: object, options: ReadOptions): Promise<Page<T>> {
    return this.ask(path, body, options, readPage<T>)
  }

  /** A write under the session: with an idempotency key, the same over all tries of this call, and the lease if there is one. */
  write<T>(path: string, parts: Parts<T>, options: WriteOptions): Promise<T> {
    const headers = {
      ...parts.headers,
      'idempotency-key': options.idempotency_key ?? crypto.randomUUID(),
      'lares-lease': this.lease,
    }
    return this.transport.call({ ...parts, path: this.#base + path, headers, signal: options.signal })
  }

  /** A write of JSON that answers JSON, or nothing. */
  send<T>(method: Call<T>['method'], path: string, body: unknown, options: WriteOptions): Promise<T> {
    return this.write<T>(path, { method, ...jsonBody(body), read: readJson<T> }, options)
  }
}

export function jsonBody(body: unknown): Pick<Call<unknown>, 'body' | 'headers'> {
  if (body === undefined) return {}
  return { body: encodeJson(body), headers: { 'content-type': 'application/json' } }
}

/** The answer's JSON; undefined when it has no body. The edge answers what its contract says, hence the cast. */
export async function readJson<T>(response: Response): Promise<T> {
  const text = await response.text()
  return (text === '' ? undefined : JSON.parse(text)) as T
}

export async function readPage<T>(response: Response): Promise<Page<T>> {
  const { items, next } = await readJson<{ items: T[]; next: string | null }>(response)
  return { items, next, version: numberIn(response.headers, 'lares-version') }
}
