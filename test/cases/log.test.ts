// Cases A: the log loses nothing, doubles nothing and keeps its order.

import { abortAllDurableObjects } from 'cloudflare:test'
import { afterEach, expect, it, vi } from 'vitest'
import { type Loose, newSession, type TestSession } from '../spine/support.ts'

afterEach(() => {
  vi.useRealTimers()
})

const payloads = async (session: TestSession, path = '/log', limit?: number) =>
  (await session.all(path, limit)).map(({ payload }) => payload)

it('A1 items of one millisecond stay in the order they were appended, at every page size', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
  const session = await newSession()
  const numbers = Array.from({ length: 200 }, (_, i) => i)
  await session.wrote(numbers.map((payload) => ({ op: 'log.append', payload })))
  for (const limit of [1, 7, 64, 199, 200, 1000]) {
    expect(await payloads(session, '/log', limit)).toEqual(numbers)
    expect(await payloads(session, '/log?order=desc', limit)).toEqual(numbers.toReversed())
  }
  expect(new Set((await session.all('/log')).map(({ at }) => at)).size).toBe(1)
})

it('A2 a clock that is set back changes no order, and no time runs backwards', async () => {
  const start = Date.now()
  vi.useFakeTimers({ toFake: ['Date'], now: start })
  const session = await newSession()
  await session.say({ id: 'c' }, { type: 'tool_call' })
  vi.setSystemTime(start - 40)
  await session.say({ call_id: 'c' }, { type: 'tool_result' })
  const log = await session.all('/log')
  expect(log.map(({ type }) => type)).toEqual(['tool_call', 'tool_result'])
  expect(log[1].at >= log[0].at).toBe(true)
  // A commit's own time names it, also while the clock has not come back to it.
  expect((await session.get(`/log?at=${log[1].at}`)).items).toHaveLength(2)
})

it('A4 a parent that the log does not have is refused; every parent resolves after a kill', async () => {
  const session = await newSession()
  const refused = await session.say('x', { parent: 1 })
  expect([refused.status, refused.body.pointer]).toEqual([422, '/parent'])
  await session.say('root')
  for (let i = 1; i < 20; i++) {
    await session.say(i, { parent: i })
    if (i % 5 === 0) {
      // Killed between sending and being told: the client only knows that it does not know.
      const unknown = session.say('unknown', { parent: i }, { 'idempotency-key': `k${i}` }).catch(() => null)
      await abortAllDurableObjects()
      await unknown
    }
  }
  const log = await session.all('/log')
  const known = new Set(log.map(({ seq }) => seq))
  for (const { parent } of log) expect(parent === undefined || known.has(parent)).toBe(true)
  let tip = log.at(-1)
  while (tip.parent !== undefined) tip = log.find(({ seq }) => seq === tip.parent)
  expect(tip.payload).toBe('root')
})

it('A7 an event of a type nobody knows yet keeps its number, and comes back byte for byte', async () => {
  const session = await newSession()
  const raw = '{"type":"of.the.future/2","payload":{"z":1,"a":[1e21,"\\u2028"]}}'
  await session.ask('POST', '/log', { raw, headers: { 'content-type': 'application/json' } })
  await abortAllDurableObjects()
  expect((await session.say('next')).body.events[0].seq).toBe(2)
  const answer = await session.ask('GET', '/log/1')
  expect(answer.body.type).toBe('of.the.future/2')
  expect(answer.text).toContain('"payload":{"a":[1e+21,"\u2028"],"z":1}')
})

it('A9 two equal texts with two keys are two events; with one key one', async () => {
  const session = await newSession()
  await session.say('yes', { key: 'a' })
  await session.say('yes', { key: 'b' })
  const again = await session.say('yes', { key: 'b' })
  expect([again.status, again.body.code, again.body.seq]).toEqual([409, 'exists', 2])
  expect(await payloads(session)).toEqual(['yes', 'yes'])
  for (let i = 0; i < 2; i++) await session.say('no', {}, { 'idempotency-key': 'once' })
  await session.say('no')
  expect(await payloads(session)).toEqual(['yes', 'yes', 'no', 'no'])
})

it('A10 a client that knows less than the log cannot save over it', async () => {
  const session = await newSession()
  for (let i = 0; i < 5; i++) await session.say(i)
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    for (const path of ['/log', '/log/1'])
      expect((await session.ask(method, path, { json: [] })).status).toBe(404)
  }
  const stale = await session.commit([{ op: 'log.append', payload: 'mine' }], { expect: 3 })
  expect([stale.status, stale.body.head]).toEqual([412, 5])
  expect(await payloads(session)).toEqual([0, 1, 2, 3, 4])
})

it('A11 a retry after a failure leaves exactly the user’s turn and the answer', async () => {
  const session = await newSession()
  await session.say('user', {}, { 'idempotency-key': 'turn-1' })
  // The model fails, the harness starts the turn again.
  await session.say('user', {}, { 'idempotency-key': 'turn-1' })
  await session.say('assistant', {}, { 'idempotency-key': 'turn-1-answer' })
  expect(await payloads(session)).toEqual(['user', 'assistant'])
})

it('A12 a call without its result is listed as pending after a kill, and a result for no call is refused', async () => {
  const session = await newSession()
  await session.say({ id: 'c1', name: 'ls' }, { type: 'tool_call' })
  await session.say({ id: 'c2', name: 'cat' }, { type: 'tool_call' })
  await session.say({ call_id: 'c1', output: 'x' }, { type: 'tool_result' })
  await abortAllDurableObjects()
  const open = await session.get('/log/pending')
  expect(open.items.map(({ payload }: Loose) => payload.id)).toEqual(['c2'])
  expect((await session.get('/log/pending?at=1')).items.map(({ payload }: Loose) => payload.id)).toEqual([
    'c1',
  ])
  const stray = await session.say({ call_id: 'c9' }, { type: 'tool_result' })
  expect([stray.status, stray.body.code, stray.body.pointer]).toEqual([
    422,
    'unknown_call',
    '/payload/call_id',
  ])
  // A pair in one commit is a pair; a result before its call is not.
  await session.wrote([
    { op: 'log.append', type: 'tool_call', payload: { id: 'c3' } },
    { op: 'log.append', type: 'tool_result', payload: { call_id: 'c3' } },
  ])
  const turned = await session.commit([
    { op: 'log.append', type: 'tool_result', payload: { call_id: 'c4' } },
    { op: 'log.append', type: 'tool_call', payload: { id: 'c4' } },
  ])
  expect(turned.body.pointer).toBe('/ops/0/payload/call_id')
  expect((await session.get('/log/pending')).items).toHaveLength(1)
})

it('A13 what was streamed so far is in the log when its reader leaves', async () => {
  const session = await newSession()
  const tail = await session.send('GET', '/tail?after=0')
  for (const chunk of ['one ', 'two ', 'three']) await session.say(chunk, { type: 'assistant_chunk' })
  await tail.body?.cancel()
  await abortAllDurableObjects()
  expect((await payloads(session, '/log?type=assistant_chunk')).join('')).toBe('one two three')
})

it('A15 a continued turn names its parent, so that a reader finds one turn and not two', async () => {
  const session = await newSession()
  await session.say('assistant, calling')
  await session.say('the rest', { parent: 1 })
  const log = await session.all('/log')
  expect(log.filter(({ parent }) => parent === undefined)).toHaveLength(1)
  expect(log[1].parent).toBe(1)
})
