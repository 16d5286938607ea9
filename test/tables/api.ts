// A fresh session, spoken to as a client does, inside the runtime.

import { env, exports } from 'cloudflare:workers'

export interface Answer {
  status: number
  // Tests say what they expect of it.
  body: Record<string, unknown> & { [member: string]: unknown }
  headers: Headers
}

export interface Api {
  id: string
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** The JSON body of a success; anything else throws. */
  ok(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Record<string, never> & { [member: string]: unknown }>
  commit(...ops: object[]): Promise<Answer>
  /** Uploads bytes; their SHA-256. */
  blob(bytes: Uint8Array): Promise<string>
}

let count = 0

export async function session(): Promise<Api> {
  const id = `t-${Date.now()}-${count++}`
  const call: Api['call'] = async (method, path, body, headers = {}) => {
    const response = await exports.default.fetch(`http://lares/v1/sessions/${id}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${env.LARES_ROOT_KEY}`,
        'content-type': 'application/json',
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: body instanceof Uint8Array || typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? {} : JSON.parse(text), headers: response.headers }
  }
  const ok: Api['ok'] = async (method, path, body) => {
    const answer = await call(method, path, body)
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    // What was expected of it is checked by the test.
    return answer.body as Awaited<ReturnType<Api['ok']>>
  }
  await ok('PUT', '', {})
  return {
    id,
    call,
    ok,
    commit: (...ops) => call('POST', '/commits', { ops }),
    async blob(bytes) {
      const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
      const sha256 = Buffer.from(digest).toString('hex')
      const put = await call('PUT', `/blobs/${sha256}`, bytes, { 'content-type': 'application/octet-stream' })
      if (put.status !== 201) throw new Error(`blob: ${put.status}`)
      return sha256
    },
  }
}
