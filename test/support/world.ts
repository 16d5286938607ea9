// A session over HTTP, inside workerd, in as few words as a test needs.

import { env, exports } from 'cloudflare:workers'

let sessions = 0

/** A name that no other test uses. */
export function freshName(prefix = 's'): string {
  return `${prefix}-${Date.now().toString(36)}-${(sessions++).toString(36)}`
}

export interface Answer {
  status: number
  // What a route answers is the route's own; a test names the members it looks at.
  // biome-ignore lint/suspicious/noExplicitAny: tests read JSON of many shapes
  body: any
  headers: Headers
}

export async function request(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await exports.default.fetch(`https://lares.test${path}`, {
    method,
    headers: {
      authorization: `Bearer ${env.LARES_ROOT_KEY}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const json = /json/.test(response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    body: json && text !== '' ? JSON.parse(text) : text,
    headers: response.headers,
  }
}

/** One session's routes. Every call that should succeed is checked to have done so. */
export class TestWorld {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }

  static async create(name = freshName()): Promise<TestWorld> {
    await expectOk(request('PUT', `/v1/sessions/${name}`, {}))
    return new TestWorld(name)
  }

  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer> {
    return request(method, `/v1/sessions/${this.name}${path}`, body, headers)
  }

  async ok(method: string, path: string, body?: unknown, headers?: Record<string, string>) {
    return (await expectOk(this.call(method, path, body, headers))).body
  }

  commit(...ops: object[]) {
    return this.ok('POST', '/commits', { ops })
  }

  set(key: string, value: unknown) {
    return this.commit({ op: 'state.set', key, value })
  }

  append(payload: unknown, more: object = {}) {
    return this.commit({ op: 'log.append', payload, ...more })
  }

  async putFile(path: string, text: string): Promise<void> {
    const response = await exports.default.fetch(
      `https://lares.test/v1/sessions/${this.name}/files/${encodeURI(path)}`,
      {
        method: 'PUT',
        headers: { authorization: `Bearer ${env.LARES_ROOT_KEY}`, 'content-type': 'text/plain' },
        body: text,
      },
    )
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    await response.arrayBuffer()
  }

  /** Bytes without a name yet. */
  async putBlob(sha256: string, text: string): Promise<void> {
    const response = await exports.default.fetch(
      `https://lares.test/v1/sessions/${this.name}/blobs/${sha256}`,
      {
        method: 'PUT',
        headers: { authorization: `Bearer ${env.LARES_ROOT_KEY}` },
        body: text,
      },
    )
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    await response.arrayBuffer()
  }

  async file(path: string, at = ''): Promise<string> {
    return (await expectOk(this.call('GET', `/files/${encodeURI(path)}${at}`))).body
  }

  /** Every item of a list, however many pages. */
  async all(path: string): Promise<Record<string, unknown>[]> {
    const items: Record<string, unknown>[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const joint = path.includes('?') ? '&' : '?'
      const page = await this.ok('GET', `${path}${cursor === '' ? '' : `${joint}cursor=${cursor}`}`)
      items.push(...page.items)
      cursor = page.next
    }
    return items
  }

  /** State, files and the active log, as values. */
  async contents(at = ''): Promise<object> {
    const joint = at === '' ? '' : `?at=${at}`
    const state = (await this.all(`/state${joint}`)).map(({ key, value }) => [key, value])
    const files = (await this.all(`/files${joint}`)).map(({ path, blob, type, mode }) => [
      path,
      blob,
      type,
      mode,
    ])
    const log = (await this.all(`/log${joint}`)).map(({ seq, type, payload }) => [seq, type, payload])
    return { state, files, log }
  }
}

export async function expectOk(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer
  if (got.status >= 400) throw new Error(`${got.status} ${JSON.stringify(got.body)}`)
  return got
}
