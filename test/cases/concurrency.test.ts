// Cases B: several writers, retries and crashes.

import { abortAllDurableObjects, evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { afterEach, expect, it, vi } from 'vitest'
import type { Session } from '../../src/session/session.ts'
import { ask, freshId, type Loose, newSession, type TestSession } from '../spine/support.ts'

afterEach(() => {
  vi.useRealTimers()
})

it('B1 of two appends that expect one version, one is told so and the other is not; nothing acknowledged is lost', async () => {
  const session = await newSession()
  for (let i = 0; i < 7; i++) await session.say(i)
  const answers = await Promise.all(
    ['a', 'b'].map((payload) => session.commit([{ op: 'log.append', payload }], { expect: 7 })),
  )
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 412])
  expect((await session.all('/log')).length).toBe(8)
})

it('B2 a runner of an older epoch writes nothing, and disturbs nobody', async () => {
  const session = await newSession()
  const first = await session.lease(60, 'a')
  const second = await session.lease(60, 'b', true)
  const late = await session.say('late', {}, { 'lares-lease': first })
  expect([late.status, late.body.code, late.body.epoch]).toEqual([409, 'fenced', 2])
  expect((await session.get()).version).toBe(0)
  expect((await session.say('mine', {}, { 'lares-lease': second })).status).toBe(201)
})

it('B4 a busy holder is never robbed by time, and nobody writes beside it', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
  const session = await newSession()
  const token = await session.lease(30)
  for (let i = 0; i < 12; i++) {
    vi.setSystemTime(Date.now() + 10_000)
    expect((await session.say(i, {}, { 'lares-lease': token })).status).toBe(201)
    expect((await session.say('no token')).status).toBe(409)
    expect((await session.ask('POST', '/lease', { json: { holder: 'other', ttl: 30 } })).body.code).toBe(
      'leased',
    )
  }
  expect((await session.get()).version).toBe(12)
})

it('B5 a fresh session can be written at once with the version it was made with; a time is no version', async () => {
  const id = freshId()
  const made = await ask('PUT', `/v1/sessions/${id}`)
  const wrote = await ask('POST', `/v1/sessions/${id}/commits`, {
    json: { ops: [{ op: 'log.append', payload: 1 }], expect: made.body.version },
  })
  expect([wrote.status, wrote.body.version]).toEqual([201, 1])
  const timed = await ask('POST', `/v1/sessions/${id}/commits`, {
    json: { ops: [{ op: 'log.append', payload: 1 }], expect: made.body.updated_at },
  })
  expect([timed.status, timed.body.pointer]).toEqual([422, '/expect'])
})

it('B7 two writers who add twenty each make forty', async () => {
  const session = await newSession()
  const writer = (who: string) =>
    Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        session.wrote([
          { op: 'log.append', payload: who + i },
          { op: 'state.add', key: 'n', by: 1 },
        ]),
      ),
    )
  await Promise.all([writer('a'), writer('b')])
  expect((await session.all('/log', 7)).length).toBe(40)
  expect(await session.get('/state/n')).toBe(40)
})

it('B8 a crash after any single write of a commit leaves all of it or none', async () => {
  const session = await newSession()
  const blob = await session.putBlob('bytes')
  await session.wrote([
    { op: 'state.set', key: 'k', value: 1 },
    { op: 'file.put', path: 'old', blob },
  ])
  const ops = [
    { op: 'log.append', payload: 'x', key: 'corr' },
    { op: 'state.set', key: 'k', value: 2 },
    { op: 'file.move', path: 'old', to: 'new' },
    { op: 'state.set', key: 'new', value: 3 },
  ]
  const before = await session.seen()
  let crashes = 0
  for (let step = 0; ; step++) {
    await runInDurableObject(session.stub(), (instance: Session) => failAt(instance, step))
    const answer = await session.commit(ops, {}, { 'idempotency-key': 'k' })
    await abortAllDurableObjects()
    if (answer.status === 201) break
    expect(answer.status).toBe(500)
    expect(answer.text).not.toContain('crash')
    expect(await session.seen()).toEqual(before)
    crashes++
  }
  expect(crashes).toBeGreaterThan(8)
  expect(await session.seen()).toMatchObject({
    shown: { version: 2, counts: { events: 1, state: 2, files: 1 } },
  })
})

/** Makes the object's next statements fail after `steps` of them. */
function failAt(instance: Session, steps: number): void {
  const { sql } = Reflect.get(instance, 'world') as { sql: SqlStorage }
  const exec = sql.exec
  let left = steps
  sql.exec = ((query: string, ...bindings: unknown[]) => {
    if (left-- <= 0) throw new Error('crash')
    return Reflect.apply(exec, sql, [query, ...bindings])
  }) as typeof exec
}

it('B9 a retry gets the first answer word for word; another body, another route and a refusal are not mistaken for it', async () => {
  const session = await newSession()
  const key = { 'idempotency-key': 'k' }
  const first = await session.say('a', {}, key)
  const again = await session.say('a', {}, key)
  expect([again.status, again.text]).toEqual([first.status, first.text])
  expect((await session.say('b', {}, key)).body.code).toBe('idempotency_mismatch')
  expect((await session.ask('PUT', '/state/k', { json: 'a', headers: key })).status).toBe(201)
  const other = await newSession()
  expect((await other.say('b', {}, key)).status).toBe(201)
})

it('B10 an inbox whose cursor moves with the handling is handled once, whatever dies', async () => {
  const session = await newSession()
  for (const n of [1, 2, 3]) await session.say(n, { lane: 'inbox' })
  const next = async () => {
    const done: number = (await session.ask('GET', '/state/inbox')).body?.seq ?? 0
    return { done, items: (await session.get(`/log?lane=inbox&after=${done}`)).items }
  }
  const handle = async (item: Loose) =>
    session.wrote([
      { op: 'log.append', payload: { handled: item.payload } },
      { op: 'state.set', key: 'inbox', value: { seq: item.seq } },
    ])
  await handle((await next()).items[0])
  await abortAllDurableObjects()
  expect((await next()).items.map(({ payload }: Loose) => payload)).toEqual([2, 3])
})

it('B12 eight first requests at once make one session, once', async () => {
  const id = freshId()
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, i) => ask('PUT', `/v1/sessions/${id}`, { json: { title: `t${i}` } })),
  )
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201])
  expect(new Set(answers.map(({ body }) => `${body.title} ${body.created_at}`)).size).toBe(1)
})

it('B12 eight first requests to an object that has just woken find its tables as they are, stamped once', async () => {
  const session = await newSession()
  await session.say('old')
  const stamp = await runInDurableObject(session.stub(), (_, state) =>
    state.storage.sql.exec("SELECT value FROM meta WHERE key = 'schema'").one(),
  )
  await evictDurableObject(session.stub())
  const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => session.say(i)))
  expect(answers.every(({ status }) => status === 201)).toBe(true)
  const now = await runInDurableObject(session.stub(), (_, state) =>
    state.storage.sql.exec("SELECT value FROM meta WHERE key = 'schema'").toArray(),
  )
  expect(now).toEqual([stamp])
})

it('B12 an object of a newer schema is left alone: unavailable, and whole afterwards', async () => {
  const session = await newSession()
  await session.say('x')
  const set = (to: string) =>
    runInDurableObject(session.stub(), (_, state) => {
      const before = state.storage.sql
        .exec<{ value: string }>("SELECT value FROM meta WHERE key = 'schema'")
        .one().value
      state.storage.sql.exec("UPDATE meta SET value = ? WHERE key = 'schema'", to)
      return before
    })
  const known = await set('999')
  await evictDurableObject(session.stub())
  const answer = await session.say('y')
  expect([answer.status, answer.body.code]).toEqual([503, 'unavailable'])
  expect(answer.headers.get('retry-after')).toBe('60')
  await set(known)
  await evictDurableObject(session.stub())
  expect((await session.all('/log')).length).toBe(1)
})

it('B14 what was acknowledged is there after the object was destroyed without warning; an empty world is not a dead one', async () => {
  const session: TestSession = await newSession()
  await abortAllDurableObjects()
  expect((await session.get()).version).toBe(0)
  for (let i = 1; i <= 10; i++) {
    await session.say(i)
    await abortAllDurableObjects()
    expect((await session.get()).version).toBe(i)
  }
})
