// A deleted session is gone by every door, for good, and leaves nothing of what it held.

import { abortAllDurableObjects, evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createApp } from '../../src/edge/app.ts'
import { type Asked, ask, env, newSession, sha256Hex, type TestSession } from './support.ts'

const marker = 'a-text-that-stands-nowhere-else'

/** Bodies that would be taken, so that nothing but the deletion can refuse them. */
const bodies: Record<string, Asked> = {
  'POST /commits': { json: { ops: [{ op: 'log.append', payload: 1 }] } },
  'POST /log': { json: { payload: 1 } },
  'PUT /state/k': { json: 1 },
  'PATCH /state/k': { json: {} },
  'PUT /files/k': { raw: 'x' },
  'POST /lease': { json: { holder: 'h', ttl: 5 } },
  'PUT /lease': { json: {}, headers: { 'lares-lease': 't' } },
  'DELETE /lease': { headers: { 'lares-lease': 't' } },
  'PATCH ': { json: { title: 't' } },
  'PUT ': { json: {} },
  'POST /blobs/missing': { json: { digests: ['a'.repeat(64)] } },
  'POST /snapshots': { json: { name: 'n' } },
  'POST /forks': { json: {} },
  'POST /revert': { json: { to: 0 } },
  'POST /merge': { json: { from: 'other' } },
  'POST /uploads': { json: {} },
  'POST /erase': { json: { refs: ['state:k'] } },
}

/** What this test knows how to ask well; of the other routes, one that is refused for how it was asked proves nothing. */
function isWellAsked(door: string): boolean {
  return door in bodies || /^(GET|DELETE|PUT) (\/(log|state|files|commits|tail|blobs)\b.*)?$/.test(door)
}

async function doors(session: TestSession): Promise<[string, Asked, boolean][]> {
  const sha256 = await sha256Hex('x')
  const found = createApp()
    .routes.filter(({ path, method }) => path.startsWith('/v1/sessions/:s') && method !== 'ALL')
    .map(({ method, path }) => {
      const rest = path
        .slice('/v1/sessions/:s'.length)
        .replace('*', 'k')
        .replace(':sha256', sha256)
        .replace(/:\w+/g, '1')
      return `${method} ${rest}`
    })
  expect(found.length).toBeGreaterThan(20)
  return [...new Set(found)].map((door) => [
    door.replace(' ', ` /v1/sessions/${session.id}`),
    bodies[door] ?? (door.startsWith('PUT /blobs') ? { raw: 'x' } : {}),
    isWellAsked(door),
  ])
}

async function gone(session: TestSession): Promise<void> {
  for (const [door, asked, well] of await doors(session)) {
    const [method = '', path = ''] = door.split(' ')
    const answer = await ask(method, path, asked)
    if (method === 'DELETE' && path.endsWith(session.id)) expect([door, answer.status]).toEqual([door, 204])
    else if (well || ![415, 422].includes(answer.status)) {
      expect([door, answer.status, answer.body?.code]).toEqual([door, 410, 'gone'])
    }
  }
  for (const path of ['', '/log', '/state/k', '/files/k', '/commits', '/tail']) {
    expect([path, (await session.ask('HEAD', path)).status]).toEqual([path, 410])
  }
}

async function filled(): Promise<TestSession> {
  const session = await newSession({ title: marker, labels: { [marker]: marker } })
  await session.commit(
    [
      { op: 'log.append', payload: marker, key: marker, type: marker },
      { op: 'state.set', key: marker, value: { [marker]: marker } },
      { op: 'state.set', key: 'k', value: marker },
    ],
    { message: marker, cause: { run: marker } },
    { 'idempotency-key': marker },
  )
  await session.ask('PUT', `/files/${marker}`, { raw: marker })
  await session.ask('PUT', '/state/k', { json: 'another' })
  await session.lease(3600, marker)
  return session
}

/** Every text and blob in the object's storage, as one. */
async function stored(session: TestSession): Promise<string> {
  return runInDurableObject(session.stub(), async (_, state) => {
    const { sql } = state.storage
    const tables = sql
      .exec<{ name: string }>(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'",
      )
      .toArray()
    let text = ''
    for (const { name } of tables) {
      for (const row of sql.exec(`SELECT * FROM "${name}"`)) {
        for (const cell of Object.values(row)) {
          text += `${cell instanceof ArrayBuffer ? Buffer.from(cell).toString('latin1') : cell}\n`
        }
      }
    }
    const keys = await state.storage.list()
    return text + JSON.stringify([...keys])
  })
}

describe('a deleted session', () => {
  it('answers 410 to everything, for good, and 204 to being deleted again', async () => {
    const session = await filled()
    expect((await session.ask('DELETE')).status).toBe(204)
    await gone(session)
    await abortAllDurableObjects()
    await gone(session)
  })

  it('leaves no trace of its content in its object', async () => {
    const session = await filled()
    expect(await stored(session)).toContain(marker)
    await session.ask('DELETE')
    await vi.waitFor(async () => expect(await stored(session)).not.toContain(marker), {
      timeout: 20_000,
      interval: 100,
    })
    expect(await stored(session)).toContain(session.id)
  })

  it('B11 is not brought back by a write that was on its way, by whatever handle', async () => {
    const session = await filled()
    const late = session.stub()
    const writes = Array.from({ length: 10 }, (_, i) => session.say(i))
    const deletion = session.ask('DELETE')
    await Promise.all([...writes, deletion])
    const outcome = await late.commit({ actor: 'late' }, {
      ops: [{ op: 'log.append', type: 't', lane: 'main', payload: '1' }],
    } as never)
    expect(outcome).toMatchObject({ ok: false, code: 'gone' })
    await gone(session)
    await vi.waitFor(
      async () => {
        const { items } = (await ask('GET', `/v1/sessions?prefix=${session.id}`)).body
        expect(items).toEqual([])
        const commits = await env.CATALOG.prepare('SELECT count(*) AS n FROM commits WHERE session = ?')
          .bind(session.id)
          .first()
        expect(commits).toEqual({ n: 0 })
      },
      { timeout: 20_000, interval: 100 },
    )
    await gone(session)
  })

  it('that never was is 404, and stays so', async () => {
    const session = await newSession()
    const none = session.id.replace('s-', 'none-')
    expect((await ask('DELETE', `/v1/sessions/${none}`)).status).toBe(404)
    expect((await ask('GET', `/v1/sessions/${none}`)).status).toBe(404)
    expect((await ask('POST', `/v1/sessions/${none}/log`, { json: { payload: 1 } })).status).toBe(404)
  })

  it('takes the scope admin', async () => {
    const session = await newSession()
    const made = await ask('POST', '/v1/tokens', {
      json: { session: session.id, scopes: ['read', 'write', 'lease', 'fork', 'snapshot'], expires_in: 60 },
    })
    expect((await session.by(made.body.token).ask('DELETE')).status).toBe(403)
    expect((await session.by(made.body.token).ask('PATCH', '', { json: { expires_in: 1 } })).status).toBe(403)
    expect((await session.get()).version).toBe(0)
  })
})

describe('an expired session', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('is gone by every door at its time, before anything swept it, and reading does not revive it', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    const session = await newSession({ expires_in: 3600 })
    await session.say(marker)
    vi.setSystemTime(Date.now() + 3599_000)
    expect((await session.get('/log')).items).toHaveLength(1)
    vi.setSystemTime(Date.now() + 1_000)
    for (let i = 0; i < 2; i++) {
      const answer = await session.ask('GET', '/log')
      expect([answer.status, answer.body.code]).toEqual([410, 'gone'])
    }
    expect(await stored(session)).toContain(marker)
    expect((await session.ask('PUT', '', { json: {} })).status).toBe(410)
    expect((await session.ask('PATCH', '', { json: { expires_in: 3600 } })).status).toBe(410)
    await evictDurableObject(session.stub())
    await gone(session)
  })

  it('can be given more time, or all of it, while it lives', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    const session = await newSession({ expires_in: 10 })
    await session.ask('PATCH', '', { json: { expires_in: null } })
    vi.setSystemTime(Date.now() + 3600_000)
    expect((await session.get()).expires_at).toBeNull()
  })

  it('is swept by its own alarm', async () => {
    const session = await newSession({ expires_in: 1 })
    await session.say(marker)
    await vi.waitFor(async () => expect(await stored(session)).not.toContain(marker), {
      timeout: 20_000,
      interval: 100,
    })
    expect((await session.ask('GET')).status).toBe(410)
  })
})
