// Requests and answers get lost. What a call reports must be what happened, once.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Lares } from '../../src/client/index.ts'
import { type LocalEdge, startLocal } from '../../src/local/index.ts'
import { chance } from '../example/chance.ts'
import { lossy } from './lossy.ts'

let edge: LocalEdge

beforeAll(async () => {
  edge = await startLocal()
})

afterAll(async () => {
  await edge.close()
})

/** A client on a network that loses two of five. */
function unlucky() {
  const luck = chance()
  const retry = { tries: 50, first_ms: 1, pause_ms: 20 }
  const lares = new Lares({ url: edge.url, token: edge.key, retry, fetch: lossy(luck, 0.4) })
  return { lares, seed: `LARES_SEED=${luck.seed}` }
}

describe('on a network that loses requests and answers', () => {
  test('a hundred appends are a hundred events, and each answer names its own', async () => {
    const { lares, seed } = unlucky()
    const session = await lares.sessions.create('appends')
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => session.log.append({ payload: n })),
    )
    const events = await session.log.list<number>().all()
    expect(events.length, seed).toBe(100)
    for (const [n, { seq, version }] of answers.entries()) {
      expect(events[seq - 1], seed).toMatchObject({ payload: n, version })
    }
  })

  test('counting to fifty counts to fifty', async () => {
    const { lares, seed } = unlucky()
    const session = await lares.sessions.create('counting')
    for (let n = 0; n < 50; n++) await session.state.add('n', 1)
    expect(await session.state.get('n'), seed).toBe(50)
    expect((await session.get()).version, seed).toBe(50)
  })

  test('every other sort of write happens once too', async () => {
    const { lares, seed } = unlucky()
    for (let n = 0; n < 10; n++) {
      const session = await lares.sessions.create(`sorts-${n}`)
      const nameless = await lares.sessions.create()
      expect((await nameless.get()).version, seed).toBe(0)
      const lease = await session.lease({ holder: 'h', ttl: 600 })
      await lease.session.files.put('a', 'x')
      await lease.session.commit((tx) => tx.files.put('b', 'y'), { expect: 1 })
      await lease.session.patch({ title: 't' })
      await lease.renew()
      await lease.release()
      expect(await session.get(), seed).toMatchObject({ version: 2, title: 't', lease: null })
      await session.delete()
      await expect(session.get()).rejects.toMatchObject({ code: 'gone' })
    }
  })
})
