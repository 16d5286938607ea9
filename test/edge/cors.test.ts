// A page of any origin can use the API with a token of its own.

import { env, exports } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'

const ask = (path: string, init: RequestInit) => exports.default.fetch(`https://lares.test${path}`, init)

describe('a browser at another origin', () => {
  it('may send what a write needs, and is told so without a credential', async () => {
    const headers = {
      origin: 'https://elsewhere.test',
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'authorization,idempotency-key,lares-lease',
    }
    const response = await ask('/v1/sessions/s/state/k', { method: 'OPTIONS', headers })
    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(response.headers.get('access-control-allow-methods')).toContain('PUT')
    const allowed = response.headers.get('access-control-allow-headers')?.toLowerCase().split(', ')
    expect(allowed).toEqual(
      expect.arrayContaining(['authorization', 'idempotency-key', 'lares-lease', 'content-type']),
    )
  })

  it('may read every answer and its headers, refusals too', async () => {
    const authorization = `Bearer ${env.LARES_ROOT_KEY}`
    for (const [path, status] of [
      ['/healthz', 200],
      ['/v1/sessions/none', 404],
      ['/nowhere', 404],
    ] as const) {
      const response = await ask(path, { headers: { authorization } })
      expect(response.status).toBe(status)
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      expect(response.headers.get('access-control-expose-headers')).toBe('*')
    }
    expect((await ask('/v1/sessions', {})).headers.get('access-control-allow-origin')).toBe('*')
  })

  it('is never let in by a cookie', async () => {
    const response = await ask('/v1/sessions', { headers: { cookie: `token=${env.LARES_ROOT_KEY}` } })
    expect(response.status).toBe(401)
    expect(response.headers.get('access-control-allow-credentials')).toBeNull()
  })
})
