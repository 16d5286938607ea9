// A session and its bytes, asked for as a client would, with the whole Worker behind it.

import { createExecutionContext, runDurableObjectAlarm, waitOnExecutionContext } from 'cloudflare:test'
import { env, exports } from 'cloudflare:workers'
import { createFleet } from '../../src/auth/admin.ts'
import { createApp } from '../../src/edge/app.ts'
import type { Env } from '../../src/env.ts'
import type { SessionStub } from '../../src/session/rpc.ts'

let made = 0

/** A name that no other test has. */
export function freshName(prefix = 's'): string {
  return `${prefix}-${++made}-${crypto.randomUUID().slice(0, 8)}`
}

export interface Asked {
  method?: string
  headers?: Record<string, string>
  body?: BodyInit | null
}

export class Client {
  readonly session: string
  readonly fleet: string

  constructor(session: string, fleet = 'default') {
    this.session = session
    this.fleet = fleet
  }

  static async make(fleet = 'default'): Promise<Client> {
    const client = new Client(freshName(), fleet)
    const response = await client.json('PUT', '', {})
    if (response.status !== 201) throw new Error(`no session: ${response.status} ${await response.text()}`)
    return client
  }

  ask(path: string, asked: Asked = {}): Promise<Response> {
    return exports.default.fetch(this.request(path, asked))
  }

  /** The same request with bindings of the caller's choice: real ones that fail at a chosen moment. */
  async askWith(bindings: Env, path: string, asked: Asked = {}): Promise<Response> {
    const context = createExecutionContext()
    const response = await createApp().fetch(this.request(path, asked), bindings, context)
    await waitOnExecutionContext(context).catch(() => {})
    return response
  }

  request(path: string, { method = 'GET', headers = {}, body = null }: Asked): Request {
    return new Request(`https://edge.test/v1/sessions/${this.session}${path}`, {
      method,
      body,
      headers: { authorization: `Bearer ${env.LARES_ROOT_KEY}`, 'lares-fleet': this.fleet, ...headers },
    })
  }

  put(path: string, body: BodyInit, headers: Record<string, string> = {}): Promise<Response> {
    return this.ask(`/files/${encodeURIComponent(path)}`, { method: 'PUT', body, headers })
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.ask(`/files/${encodeURIComponent(path)}`, { headers })
  }

  json(method: string, path: string, body: unknown): Promise<Response> {
    return this.ask(path, {
      method,
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    })
  }

  /** A token for this session alone. */
  async tokenFor(scopes: string[]): Promise<string> {
    const response = await exports.default.fetch(
      new Request('https://edge.test/v1/tokens', {
        method: 'POST',
        body: JSON.stringify({ session: this.session, scopes, expires_in: 600 }),
        headers: {
          authorization: `Bearer ${env.LARES_ROOT_KEY}`,
          'lares-fleet': this.fleet,
          'content-type': 'application/json',
        },
      }),
    )
    return (await response.json<{ token: string }>()).token
  }

  /** Deletes the session, and lets what follows behind the answer happen now. */
  async delete(): Promise<void> {
    await this.ask('', { method: 'DELETE' })
    const stub = env.SESSION.get(env.SESSION.idFromName(`${this.fleet}/${this.session}`))
    while (await runDurableObjectAlarm(stub));
  }

  get stub(): SessionStub {
    // As the edge does: the object is known by its RPC type alone.
    return env.SESSION.get(env.SESSION.idFromName(`${this.fleet}/${this.session}`)) as unknown as SessionStub
  }
}

export async function sha256Of(bytes: Uint8Array | string): Promise<string> {
  const data = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes
  const digest = await crypto.subtle.digest('SHA-256', data)
  return Buffer.from(digest).toString('hex')
}

export function contentDigest(sha256: string): string {
  return `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`
}

/** Bytes that look like nothing, the same for the same seed. */
export function noise(size: number, seed = 1): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size)
  const words = new Uint32Array(bytes.buffer, 0, Math.floor(size / 4))
  let x = seed * 2654435761 + 1
  for (let i = 0; i < words.length; i++) {
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    words[i] = x
  }
  for (let i = words.length * 4; i < size; i++) bytes[i] = (seed + i) & 255
  return bytes
}

/** A body whose length nobody knows. */
export function unbounded(bytes: Uint8Array, piece = 100_000): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.slice(at, at + piece))
      at += piece
    },
  })
}

/** A fleet with nothing in it. */
export async function freshFleet(): Promise<string> {
  const fleet = freshName('f')
  await createFleet(env, fleet)
  return fleet
}

/** Every key of a fleet in R2. */
export async function keysOf(fleet: string): Promise<string[]> {
  const keys: string[] = []
  let cursor: string | undefined
  do {
    const page: R2Objects = await env.BLOBS.list({
      prefix: `fleets/${fleet}/`,
      ...(cursor ? { cursor } : {}),
    })
    keys.push(...page.objects.map((object) => object.key))
    cursor = page.truncated ? page.cursor : undefined
  } while (cursor !== undefined)
  return keys
}
