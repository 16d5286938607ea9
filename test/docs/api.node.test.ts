// The decisions that docs/api.md writes down, each as a request that shows it.

import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LocalEdge, startLocal } from '../../src/local/index.ts'
import { errors } from '../../src/protocol/errors.ts'

let edge: LocalEdge

beforeAll(async () => {
  edge = await startLocal({ key: 'api-key', quiet: true })
})
afterAll(() => edge.close())

type Headers = Record<string, string>

async function ask(method: string, path: string, body?: unknown, headers: Headers = {}) {
  const response = await fetch(`${edge.url}/v1/${path}`, {
    method,
    headers: { authorization: `Bearer ${edge.key}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  // Each test knows what it asked for.
  return {
    status: response.status,
    etag: response.headers.get('etag') ?? '',
    body: text === '' ? null : JSON.parse(text),
  }
}

/** A new world; answers the path of everything in it. */
async function world(name: string): Promise<string> {
  const { status } = await ask('PUT', `sessions/${name}`, {})
  expect(status).toBe(201)
  return `sessions/${name}`
}

const commit = (path: string, ...ops: object[]) => ask('POST', `${path}/commits`, { ops })

it('the page lists every code with its status, and no other', () => {
  const page = readFileSync('docs/api.md', 'utf8')
  const listed = [...page.matchAll(/^\| *(\d{3}) *\| *`(\w+)` *\|/gm)].map(
    ([, status, code]) => `${status} ${code}`,
  )
  expect(listed).toEqual(Object.entries(errors).map(([code, { status }]) => `${status} ${code}`))
})

describe('who asks', () => {
  it('Lares-Fleet names the fleet for the root key alone', async () => {
    await world('fleets')
    await ask('PUT', 'fleets/acme')
    expect(await ask('GET', 'sessions/fleets', undefined, { 'lares-fleet': 'acme' })).toMatchObject({
      status: 404,
    })
    const { body } = await ask('POST', 'fleets/acme/keys', {})
    const key = { authorization: `Bearer ${body.key}`, 'lares-fleet': 'default' }
    expect(await ask('GET', 'sessions/fleets', undefined, key)).toMatchObject({ status: 404 })
  })

  it('what a credential may not see is 404 before its scope is asked', async () => {
    await world('hidden')
    const { body } = await ask('POST', 'tokens', { session: 'other', scopes: ['read'], expires_in: 60 })
    const token = { authorization: `Bearer ${body.token}` }
    expect(await ask('PUT', 'sessions/hidden/state/a', 1, token)).toMatchObject({ status: 404 })
    expect(await ask('PUT', 'sessions/other/state/a', 1, token)).toMatchObject({ status: 403 })
  })
})

describe('writes', () => {
  it('conditions speak of the world before the commit', async () => {
    const path = await world('before')
    const twice = { op: 'state.set', key: 'a', value: 1, if: { absent: true } }
    expect(await commit(path, twice, twice)).toMatchObject({ status: 201 })
    expect(await commit(path, twice)).toMatchObject({ status: 412, body: { pointer: '/ops/0' } })
  })

  it('if on a move speaks of the target, and has no meaning with a prefix', async () => {
    const path = await world('target')
    for (const name of ['a', 'b']) await ask('PUT', `${path}/files/${name}`, name)
    const move = { op: 'file.move', path: 'a', to: 'b', if: { absent: true } }
    expect(await commit(path, move)).toMatchObject({ status: 412 })
    expect(await commit(path, { ...move, to: 'c' })).toMatchObject({ status: 201 })
    const { path: _, ...rest } = move
    expect(await commit(path, { ...rest, prefix: 'b' })).toMatchObject({ status: 422 })
  })

  it('If-Match takes the ETag of a read', async () => {
    const path = await world('match')
    await ask('PUT', `${path}/state/a`, 1)
    const { etag } = await ask('GET', `${path}/state/a`)
    expect(await ask('PUT', `${path}/state/a`, 2, { 'if-match': etag })).toMatchObject({ status: 200 })
    expect(await ask('PUT', `${path}/state/a`, 3, { 'if-match': etag })).toMatchObject({ status: 412 })
    expect(await ask('PUT', `${path}/state/a`, 3, { 'if-match': '"none"' })).toMatchObject({ status: 412 })
    expect(await ask('PUT', `${path}/state/a`, 3, { 'if-none-match': '*' })).toMatchObject({ status: 412 })
  })

  it('deleting what is not there is 404 by its own route, and recorded by a commit', async () => {
    const path = await world('absent')
    expect(await ask('DELETE', `${path}/state/a`)).toMatchObject({ status: 404 })
    expect(await ask('DELETE', `${path}/files/a`)).toMatchObject({ status: 404 })
    expect(await commit(path, { op: 'state.delete', key: 'a' })).toMatchObject({
      status: 201,
      body: { version: 1 },
    })
    const { body } = await ask('GET', `${path}/commits/1`)
    expect(body.ops).toEqual([{ op: 'state.delete', ref: 'state:a', digest: null }])
  })

  it('a prefix is text, and what follows it is put behind the target', async () => {
    const path = await world('prefix')
    for (const name of ['docs/a', 'docs2']) await ask('PUT', `${path}/files/${name}`, name)
    const copy = await commit(path, { op: 'file.copy', prefix: 'docs', to: 'old' })
    expect(copy.body.results).toEqual([{ count: 2 }])
    const { body } = await ask('GET', `${path}/files?prefix=old`)
    expect(body.items.map((file: { path: string }) => file.path)).toEqual(['old/a', 'old2'])
    expect(await commit(path, { op: 'file.move', prefix: 'docs/', to: 'docs/in/' })).toMatchObject({
      status: 422,
    })
    expect((await commit(path, { op: 'file.delete', prefix: 'none/' })).body.results).toEqual([{ count: 0 }])
  })
})

describe('idempotency', () => {
  const key = { 'idempotency-key': 'k' }

  it('keeps successes and not refusals, for one route', async () => {
    const path = await world('idempotent')
    const early = { ops: [{ op: 'state.set', key: 'b', value: 0 }], expect: 1 }
    expect(await ask('POST', `${path}/commits`, early, key)).toMatchObject({ status: 412 })
    const first = await ask('PATCH', `${path}/state/a`, 1, key)
    expect(await ask('PATCH', `${path}/state/a`, 1, key)).toEqual(first)
    expect(await ask('PATCH', `${path}/state/a`, 2, key)).toMatchObject({
      status: 422,
      body: { code: 'idempotency_mismatch' },
    })
    expect(await ask('POST', `${path}/commits`, early, key)).toMatchObject({
      status: 201,
      body: { version: 2 },
    })
  })

  it('names a session after its key', async () => {
    const [one, other] = [await ask('POST', 'sessions', {}, key), await ask('POST', 'sessions', {}, key)]
    expect(other.body.session).toBe(one.body.session)
  })

  it('comes after the lease: a retry by who lost it is fenced', async () => {
    const path = await world('late')
    const take = { holder: 'a', ttl: 60 }
    const { body: lease } = await ask('POST', `${path}/lease`, take)
    const held = { ...key, 'lares-lease': lease.token }
    expect(await ask('POST', `${path}/log`, { payload: 1 }, held)).toMatchObject({ status: 201 })
    await ask('POST', `${path}/lease`, { ...take, steal: true })
    expect(await ask('POST', `${path}/log`, { payload: 1 }, held)).toMatchObject({
      status: 409,
      body: { code: 'fenced', epoch: 2 },
    })
  })
})

describe('leases', () => {
  it('the token of an expired lease is fenced, though nobody else holds one', async () => {
    const path = await world('expired')
    const { body: lease } = await ask('POST', `${path}/lease`, { holder: 'a', ttl: 1 })
    while ((await ask('GET', path)).body.lease !== null) await sleep(50)
    const stale = { 'lares-lease': lease.token }
    expect(await ask('POST', `${path}/log`, { payload: 1 }, stale)).toMatchObject({
      status: 409,
      body: { code: 'fenced' },
    })
    expect(await ask('POST', `${path}/log`, { payload: 1 })).toMatchObject({ status: 201 })
  })

  it('the inbox is open to others', async () => {
    const path = await world('inbox')
    await ask('POST', `${path}/lease`, { holder: 'a', ttl: 60 })
    expect(await ask('POST', `${path}/log`, { payload: 1, lane: 'inbox' })).toMatchObject({ status: 201 })
    expect(await ask('POST', `${path}/log`, { payload: 1 })).toMatchObject({ status: 409 })
    expect(await ask('POST', `${path}/lease`, { holder: 'a', ttl: 60 })).toMatchObject({
      body: { code: 'leased', retry_after: expect.any(Number) },
    })
  })
})

describe('reads', () => {
  it('a time means the last commit not after it; before the session and in the future there is none', async () => {
    const path = await world('times')
    const { body } = await ask('PUT', `${path}/state/a`, 1)
    while (Date.now() <= Date.parse(body.at)) await sleep(1)
    await ask('PUT', `${path}/state/a`, 2)
    expect(await ask('GET', `${path}/state/a?at=${body.at}`)).toMatchObject({ body: 1 })
    expect(await ask('GET', `${path}/state/a?at=2001-01-01T00:00:00Z`)).toMatchObject({
      body: { code: 'no_such_version' },
    })
    expect(await ask('GET', `${path}/state/a?at=2999-01-01T00:00:00Z`)).toMatchObject({
      body: { code: 'no_such_version' },
    })
    expect(await ask('GET', `${path}/state/a?at=0`)).toMatchObject({ body: { code: 'not_found' } })
    expect(await ask('GET', `${path}/state?at=0`)).toMatchObject({ body: { items: [], next: null } })
  })

  it('a page ends early when it is large, and says that more follows', async () => {
    const path = await world('pages')
    const value = 'x'.repeat(250_000)
    const ops = Array.from({ length: 80 }, (_, i) => ({ op: 'state.set', key: `k${i + 100}`, value }))
    expect(await commit(path, ...ops)).toMatchObject({ status: 201 })
    const { body } = await ask('GET', `${path}/state`)
    expect(body.items.length).toBeLessThan(80)
    expect(body.next).not.toBeNull()
  })
})

describe('the tail', () => {
  async function messages(
    path: string,
    query: string,
    count: number,
  ): Promise<{ event: string; id: number }[]> {
    const url = `${edge.url.replace('http', 'ws')}/v1/${path}/tail?${query}&access_token=${edge.key}`
    const socket = new WebSocket(url)
    const got: { event: string; id: number }[] = []
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('error', () => reject(new Error('the socket failed')))
      socket.addEventListener('message', ({ data }) => {
        got.push(JSON.parse(String(data)))
        if (got.length === count) resolve()
      })
    })
    socket.close()
    return got
  }

  it('a WebSocket tells commits in the order of versions', async () => {
    const path = await world('tail')
    for (const payload of [1, 2]) await ask('POST', `${path}/log`, { payload })
    expect(await messages(path, 'after=0', 2)).toMatchObject([
      {
        event: 'commit',
        id: 1,
        data: { version: 1, ops: [{ op: 'log.append', ref: 'log:1', value: { payload: 1 } }] },
      },
      { event: 'commit', id: 2 },
    ])
  })

  it('a version that cannot be continued from gets a gap with the head', async () => {
    const path = await world('gap')
    await ask('POST', `${path}/log`, { payload: 1 })
    expect(await messages(path, 'after=99', 1)).toEqual([{ event: 'gap', id: 1, data: { head: 1 } }])
  })

  it('a deleted session closes its sockets with 4410', async () => {
    const path = await world('ended')
    const socket = new WebSocket(`${edge.url.replace('http', 'ws')}/v1/${path}/tail?access_token=${edge.key}`)
    const closed = new Promise<number>((resolve) =>
      socket.addEventListener('close', ({ code }) => resolve(code)),
    )
    await new Promise((resolve) => socket.addEventListener('open', resolve))
    await ask('DELETE', path)
    expect(await closed).toBe(4410)
  })
})
