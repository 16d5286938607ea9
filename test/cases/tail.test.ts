// Cases J that are not about the tail alone; the others stand in test/spine/tail.test.ts, under their numbers.

import { abortAllDurableObjects } from 'cloudflare:test'
import { afterEach, expect, it, vi } from 'vitest'
import { newSession } from '../spine/support.ts'

afterEach(() => {
  vi.useRealTimers()
})

it('J6 a read right after a write has it, also when the object died in between', async () => {
  const session = await newSession()
  for (let i = 1; i <= 5; i++) {
    await session.wrote([{ op: 'state.set', key: 'turn', value: i }])
    if (i % 2 === 0) await abortAllDurableObjects()
    expect(await session.get('/state/turn')).toBe(i)
    expect((await session.get()).version).toBe(i)
  }
})

it('J9 a run whose harness died is free within its lease, and nothing of it is owed for ever', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
  const session = await newSession()
  const token = await session.lease(30, 'run 1')
  await session.say({ id: 'c' }, { type: 'tool_call' }, { 'lares-lease': token })
  await abortAllDurableObjects()
  expect((await session.get()).lease).toMatchObject({ holder: 'run 1' })
  vi.setSystemTime(Date.now() + 31_000)
  expect((await session.get()).lease).toBeNull()
  const next = await session.ask('POST', '/lease', { json: { holder: 'run 2', ttl: 30 } })
  expect([next.status, next.body.epoch]).toEqual([201, 2])
  expect((await session.get('/log/pending')).items).toHaveLength(1)
  expect((await session.say('late', {}, { 'lares-lease': token })).body.code).toBe('fenced')
})
