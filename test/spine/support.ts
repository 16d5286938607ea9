// What the tests of the spine share: the edge as a client sees it, one request a call, and the object behind a session where
// a test must look inside or kill it.

/// <reference types="@cloudflare/vitest-plugin/types" />

import { env as bound, exports } from 'cloudflare:workers'
import type { Env } from '../../src/env.ts'

// The test configuration binds what the Worker's does; the platform's type of `env` is open on purpose.
export const env = bound as unknown as Env

export const rootKey = 'test-root-key'

// JSON of unknown shape, as a test reads it: what is expected of it stands in the expectation.
// biome-ignore lint/suspicious/noExplicitAny: a test that narrows every answer by hand says less, not more.
export type Loose = any

export interface Answer {
  status: number
  headers: Headers
  text: string
  /** The body as JSON; undefined when it is none. */
  body: Loose
}

export interface Asked {
  json?: unknown
  /** Sent as it is. */
  raw?: BodyInit
  headers?: Record<string, string>
  token?: string
}

/** A request to the Worker, by whatever path it is given. */
export function send(method: string, path: string, { json, raw, headers, token = rootKey }: Asked = {}) {
  const all = new Headers(headers)
  if (!all.has('authorization') && token !== '') all.set('authorization', `Bearer ${token}`)
  const body = raw ?? (json === undefined ? undefined : JSON.stringify(json))
  if (json !== undefined && !all.has('content-type')) all.set('content-type', 'application/json')
  return exports.default.fetch(`https://lares.test${path}`, {
    method,
    headers: all,
    ...(body === undefined ? {} : { body }),
  })
}

export async function ask(method: string, path: string, asked?: Asked): Promise<Answer> {
  const response = await send(method, path, asked)
  const text = await response.text()
  let body: Loose
  try {
    body = JSON.parse(text)
  } catch {
    // Not JSON, as the bytes of a file are not.
  }
  return { status: response.status, headers: response.headers, text, body }
}

let count = 0

/** A name that no session has yet. */
export function freshId(prefix = 's'): string {
  count += 1
  return `${prefix}-${count}-${crypto.randomUUID().slice(0, 8)}`
}

export class TestSession {
  readonly id: string
  readonly token: string
  constructor(id: string, token = rootKey) {
    this.id = id
    this.token = token
  }

  /** The same session, asked by someone else. */
  by(token: string): TestSession {
    return new TestSession(this.id, token)
  }

  ask(method: string, path = '', asked: Asked = {}): Promise<Answer> {
    return ask(method, `/v1/sessions/${this.id}${path}`, { token: this.token, ...asked })
  }

  send(method: string, path = '', asked: Asked = {}): Promise<Response> {
    return send(method, `/v1/sessions/${this.id}${path}`, { token: this.token, ...asked })
  }

  /** The body of a read that must succeed. */
  async get(path = ''): Promise<Loose> {
    const answer = await this.ask('GET', path)
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${answer.text}`)
    return answer.body
  }

  commit(ops: Loose[], rest: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
    return this.ask('POST', '/commits', { json: { ops, ...rest }, headers })
  }

  /** A commit that must succeed; its version. */
  async wrote(ops: Loose[], rest: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
    const answer = await this.commit(ops, rest, headers)
    if (answer.status !== 201) throw new Error(`commit: ${answer.status} ${answer.text}`)
    const version: number = answer.body.version
    return version
  }

  say(payload: unknown, fields: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
    return this.ask('POST', '/log', { json: { payload, ...fields }, headers })
  }

  /** Every item of a list, page by page. */
  async all(path: string, limit?: number): Promise<Loose[]> {
    const items: Loose[] = []
    let cursor: string | null = null
    do {
      const query: string[] = []
      if (limit !== undefined) query.push(`limit=${limit}`)
      if (cursor !== null) query.push(`cursor=${cursor}`)
      const page = await this.get(
        query.length === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${query.join('&')}`,
      )
      items.push(...page.items)
      cursor = page.next
    } while (cursor !== null)
    return items
  }

  /** What a client can see of the whole session; equal before and after whatever must not change it. */
  async seen(): Promise<Loose> {
    const { lease: _, ...shown } = await this.get()
    return {
      shown,
      log: await this.all('/log'),
      state: await this.all('/state'),
      files: await this.all('/files'),
    }
  }

  async lease(ttl = 60, holder = 'h', steal = false): Promise<string> {
    const answer = await this.ask('POST', '/lease', { json: { holder, ttl, ...(steal ? { steal } : {}) } })
    if (answer.status !== 201) throw new Error(`lease: ${answer.status} ${answer.text}`)
    return answer.body.token
  }

  async putBlob(bytes: string): Promise<string> {
    const sha256 = await sha256Hex(bytes)
    const answer = await this.ask('PUT', `/blobs/${sha256}`, { raw: bytes })
    if (answer.status !== 201) throw new Error(`blob: ${answer.status} ${answer.text}`)
    return sha256
  }

  /** The object behind it. */
  stub(fleet = 'default') {
    return env.SESSION.get(env.SESSION.idFromName(`${fleet}/${this.id}`))
  }
}

/** A new session. */
export async function newSession(init: Record<string, unknown> = {}, prefix?: string): Promise<TestSession> {
  const session = new TestSession(freshId(prefix))
  const made = await session.ask('PUT', '', { json: init })
  if (made.status !== 201) throw new Error(`PUT: ${made.status} ${made.text}`)
  return session
}

/** A token minted by the root key. */
export async function mint(
  subject: { session: string } | { pattern: string },
  scopes: string[],
  expires_in = 3600,
  parent = rootKey,
): Promise<{ token: string; id: string }> {
  const made = await ask('POST', '/v1/tokens', { json: { ...subject, scopes, expires_in }, token: parent })
  if (made.status !== 201) throw new Error(`token: ${made.status} ${made.text}`)
  return made.body
}

export async function sha256Hex(bytes: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(bytes))
  return Buffer.from(digest).toString('hex')
}
