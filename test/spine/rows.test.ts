// What writes and reads cost in rows, as the platform bills them.

import { runInDurableObject } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Session } from '../../src/session/session.ts'
import { newSession, type TestSession } from './support.ts'

interface Rows {
  read: number
  written: number
}

/** Runs requests and answers what their SQL cost in the object. The alarm's own rows are not among them. */
async function rowsOf(session: TestSession, act: () => Promise<unknown>): Promise<Rows> {
  // The object's next alarm must not run in between.
  await runInDurableObject(session.stub(), async (_, state) => state.storage.deleteAlarm())
  const cursors: { rowsRead: number; rowsWritten: number }[] = []
  const original = await runInDurableObject(session.stub(), (instance: Session) => {
    // The world's storage is the object's own; a test may reach what TypeScript calls protected.
    const { sql } = Reflect.get(instance, 'world') as { sql: SqlStorage }
    const exec = sql.exec
    sql.exec = ((query: string, ...bindings: unknown[]) => {
      const cursor = Reflect.apply(exec, sql, [query, ...bindings])
      cursors.push(cursor)
      return cursor
    }) as typeof exec
    return exec
  })
  await act()
  await runInDurableObject(session.stub(), (instance: Session) => {
    const { sql } = Reflect.get(instance, 'world') as { sql: SqlStorage }
    sql.exec = original
  })
  return cursors.reduce<Rows>(
    (sum, { rowsRead, rowsWritten }) => ({ read: sum.read + rowsRead, written: sum.written + rowsWritten }),
    { read: 0, written: 0 },
  )
}

const event = { op: 'log.append', payload: { text: 'hello' } }

describe('rows written', () => {
  let session: TestSession
  beforeAll(async () => {
    session = await newSession()
    await session.say('first')
  })
  const written = async (act: () => Promise<{ status: number; text: string }>) => {
    const { written } = await rowsOf(session, async () => {
      const answer = await act()
      if (answer.status >= 300) throw new Error(answer.text)
    })
    return written
  }

  it('an append writes at most 2, with an idempotency key at most 3', async () => {
    expect(await written(() => session.say('x'))).toBe(2)
    expect(await written(() => session.commit([event]))).toBe(2)
    expect(await written(() => session.say('x', {}, { 'idempotency-key': 'k1' }))).toBe(3)
    expect(await written(() => session.say('x', {}, { 'idempotency-key': 'k1' }))).toBe(0)
  })

  it('a hundred events in one commit write 101', async () => {
    expect(await written(() => session.commit(Array.from({ length: 100 }, () => event)))).toBe(101)
  })

  it('an event’s correlation key and a tool call’s id cost one more each', async () => {
    expect(await written(() => session.say('x', { key: 'corr' }))).toBe(3)
    expect(await written(() => session.say({ id: 'c' }, { type: 'tool_call' }))).toBe(3)
  })

  it('the first write of a state key writes 2, its update 3, its removal 3', async () => {
    expect(await written(() => session.ask('PUT', '/state/k', { json: 1 }))).toBe(2)
    expect(await written(() => session.ask('PUT', '/state/k', { json: 2 }))).toBe(3)
    expect(await written(() => session.commit([{ op: 'state.add', key: 'k', by: 1 }]))).toBe(3)
    expect(await written(() => session.ask('DELETE', '/state/k'))).toBe(3)
  })

  it('the holder of a lease writes no more than anyone', async () => {
    const token = await session.lease()
    expect(await written(() => session.say('x', {}, { 'lares-lease': token }))).toBe(2)
    await session.ask('DELETE', '/lease', { headers: { 'lares-lease': token } })
  })

  it('a refused write, a read and a session that is there already write nothing', async () => {
    const nothing = await rowsOf(session, async () => {
      await session.commit([event, { op: 'state.add', key: 'gone', by: 1, if: { version: 1 } }])
      await session.commit([event], { expect: 0 })
      await session.commit([])
      await session.say('x', { parent: 10_000 })
      await session.ask('PUT', '', { json: {} })
      await session.seen()
    })
    expect(nothing.written).toBe(0)
  })
})

describe('rows read', () => {
  it('a log page of 100 from the middle of 100,000 events reads at most 110', {
    timeout: 120_000,
  }, async () => {
    const session = await newSession()
    const thousand = Array.from({ length: 1000 }, (_, i) => ({ op: 'log.append', payload: i }))
    for (let i = 0; i < 100; i++) await session.wrote(thousand)
    for (const query of [
      'after=50000&limit=100',
      'before=50000&order=desc&limit=100',
      'at=60&after=50000&limit=100',
    ]) {
      const { read } = await rowsOf(session, async () => {
        expect((await session.get(`/log?${query}`)).items).toHaveLength(100)
      })
      expect(read).toBeLessThanOrEqual(110)
    }
    const one = await rowsOf(session, () => session.get('/log/50000'))
    expect(one.read).toBeLessThanOrEqual(3)
    const write = await rowsOf(session, () => session.say('x'))
    expect(write.read).toBeLessThanOrEqual(3)
  })

  it('a key’s value at an old version, 100,000 versions deep, takes a handful', async () => {
    const session = await newSession()
    await session.ask('PUT', '/state/k', { json: 'value' })
    await runInDurableObject(session.stub(), (instance: Session, state) => {
      state.storage.sql.exec(`
        CREATE TABLE numbers AS WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 99999) SELECT n FROM n;
        INSERT INTO past (kind, key, since, until, inputs, value, blob, size, salt, digest)
          SELECT kind, key, n, n + 1, inputs, value, blob, size, salt, digest FROM entries, numbers;
        UPDATE entries SET since = 100000;
        CREATE TABLE copies AS SELECT * FROM commits;
        UPDATE copies SET version = 100000;
        INSERT INTO commits SELECT * FROM copies;
      `)
      const world = Reflect.get(instance, 'world') as { reload(): void }
      world.reload()
    })
    for (const version of [1, 50_000, 99_999, 100_000]) {
      const { read } = await rowsOf(session, async () => {
        const answer = await session.ask('GET', `/state/k?at=${version}`)
        expect([answer.body, answer.headers.get('lares-since')]).toEqual(['value', String(version)])
      })
      expect(read).toBeLessThanOrEqual(6)
    }
    const listed = await rowsOf(session, async () => {
      expect((await session.get('/state?at=50000')).items).toHaveLength(1)
    })
    expect(listed.read).toBeLessThanOrEqual(20)
  })
})
