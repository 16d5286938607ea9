// The catalog behind the answers: late when D1 is down, never wrong, and right again by itself.

import { abortAllDurableObjects, evictDurableObject } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ask, env, freshId, type Loose, newSession, type TestSession } from './support.ts'

async function listed(session: TestSession): Promise<Loose> {
  const { items } = (await ask('GET', `/v1/sessions?prefix=${session.id}&order=id`)).body
  return items.find((item: Loose) => item.session === session.id) ?? null
}

/** Waits until the catalog has all of the session. */
async function caughtUp(session: TestSession): Promise<Loose> {
  const { version } = await session.get()
  return vi.waitFor(
    async () => {
      const row = await listed(session)
      expect([row?.projected_version, row?.version]).toEqual([version, version])
      return row
    },
    { timeout: 40_000, interval: 100 },
  )
}

describe('a catalog that is down', () => {
  let broken = false
  const breakIt = async () => {
    await env.CATALOG.exec('ALTER TABLE commits RENAME TO commits_elsewhere')
    broken = true
  }
  const repair = async () => {
    if (broken) await env.CATALOG.exec('ALTER TABLE commits_elsewhere RENAME TO commits')
    broken = false
  }
  afterEach(repair)

  it('delays no write and no read, and catches up by itself when it is back', async () => {
    const session = await newSession()
    await session.say('before')
    await caughtUp(session)
    await breakIt()
    for (let i = 0; i < 5; i++) expect((await session.say(i)).status).toBe(201)
    await session.ask('PUT', '/files/f', { raw: 'f' })
    expect((await session.get('/log')).items).toHaveLength(6)
    // It has been tried, and failed, before it is repaired.
    await vi.waitFor(async () => expect((await listed(session))?.projected_version).toBe(1))
    expect((await ask('GET', '/v1/commits')).status).toBe(503)
    expect((await ask('GET', '/v1/commits')).headers.get('retry-after')).toMatch(/^\d+$/)
    await repair()
    await caughtUp(session)
  })

  it('is caught up also when the object died in between', async () => {
    const session = await newSession()
    await breakIt()
    await session.say('x')
    await evictDurableObject(session.stub()).catch(() => {})
    await session.say('y')
    await abortAllDurableObjects()
    await repair()
    const row = await vi.waitFor(
      async () => {
        const one = await listed(session)
        expect(one?.projected_version).toBe(2)
        return one
      },
      { timeout: 40_000, interval: 100 },
    )
    expect(row.version).toBe(2)
  })

  it('learns of a deletion when it is back', async () => {
    const session = await newSession()
    await session.say('secret')
    await caughtUp(session)
    await breakIt()
    expect((await session.ask('DELETE')).status).toBe(204)
    await repair()
    await vi.waitFor(async () => expect(await rowsOf(session)).toBe(0), { timeout: 40_000, interval: 100 })
  })
})

async function rowsOf(session: TestSession): Promise<number> {
  let rows = 0
  const { results } = await env.CATALOG.prepare(
    "SELECT m.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c ON c.name = 'session' WHERE m.type = 'table'",
  ).all<{ name: string }>()
  expect(results.length).toBeGreaterThanOrEqual(5)
  for (const { name } of results) {
    const row = await env.CATALOG.prepare(`SELECT count(*) AS n FROM "${name}" WHERE session = ?`)
      .bind(session.id)
      .first<{ n: number }>()
    rows += row?.n ?? 0
  }
  return rows
}

describe('the catalog', () => {
  it('has each commit and each value once, however often the object dies on the way', async () => {
    const session = await newSession()
    for (let i = 0; i < 12; i++) {
      await session.wrote([
        { op: 'log.append', payload: i },
        { op: 'state.set', key: `k${i % 3}`, value: i },
      ])
      if (i % 4 === 3) await abortAllDurableObjects()
    }
    await session.say('last')
    await caughtUp(session)
    const count = async (table: string) =>
      (
        await env.CATALOG.prepare(`SELECT count(*) AS n FROM ${table} WHERE session = ?`)
          .bind(session.id)
          .first<{ n: number }>()
      )?.n
    expect(await count('commits')).toBe(13)
    expect(await count('events')).toBe(13)
    expect(await count('entries')).toBe(12)
    const open = await env.CATALOG.prepare(
      'SELECT key, value FROM entries WHERE session = ? AND until IS NULL ORDER BY key',
    )
      .bind(session.id)
      .all()
    expect(open.results.map(({ key, value }) => [key, JSON.parse(String(value))])).toEqual([
      ['k0', 9],
      ['k1', 10],
      ['k2', 11],
    ])
  })

  it('lists sessions by label, prefix, text and time, and forgets the deleted and the expired', async () => {
    const family = freshId('list')
    const make = async (name: string, init: Record<string, unknown>) => {
      const answer = await ask('PUT', `/v1/sessions/${family}.${name}`, { json: init })
      expect(answer.status).toBe(201)
    }
    await make('a', { title: 'Über Alles', labels: { team: 'red', env: 'prod' } })
    await make('b', { labels: { team: 'red' } })
    await make('c', { labels: { team: 'blue', env: 'prod' } })
    const names = async (query: string) => {
      const answer = await ask('GET', `/v1/sessions?prefix=${family}&order=id&${query}`)
      expect(answer.status).toBe(200)
      return answer.body.items.map((item: Loose) => item.session.split('.')[1]).join('')
    }
    const eventually = (query: string, expected: string) =>
      vi.waitFor(async () => expect(await names(query)).toBe(expected), { timeout: 20_000, interval: 100 })
    await eventually('', 'abc')
    expect(await names('label.team=red')).toBe('ab')
    expect(await names('label.team=red&label.env=prod')).toBe('a')
    expect(await names('label.team=Red')).toBe('')
    expect(await names('label.nope=red')).toBe('')
    expect(await names(`q=${encodeURIComponent('über')}`)).toBe('a')
    expect(await names('updated_after=2999-01-01T00:00:00Z')).toBe('')
    expect(await names('updated_after=2001-01-01T00:00:00Z')).toBe('abc')
    const after = new Date(Date.now() - 1).toISOString()
    await ask('PATCH', `/v1/sessions/${family}.b`, {
      json: { labels: { team: null, env: 'test' }, title: 'now' },
    })
    await eventually(`updated_after=${encodeURIComponent(after)}`, 'b')
    await eventually('label.team=red', 'a')
    await eventually('label.env=test', 'b')
    await ask('DELETE', `/v1/sessions/${family}.a`)
    await eventually('', 'bc')
    await ask('PATCH', `/v1/sessions/${family}.c`, { json: { expires_in: 1 } })
    await eventually('', 'b')
  })

  it('is asked nothing by a session’s own routes', async () => {
    const session = await newSession()
    await env.CATALOG.exec('ALTER TABLE sessions RENAME TO sessions_elsewhere')
    try {
      expect((await session.say('x')).status).toBe(201)
      expect(await session.seen()).toMatchObject({ shown: { version: 1 } })
      expect((await session.ask('POST', '/lease', { json: { holder: 'h', ttl: 5 } })).status).toBe(201)
    } finally {
      await env.CATALOG.exec('ALTER TABLE sessions_elsewhere RENAME TO sessions')
    }
  })
})
