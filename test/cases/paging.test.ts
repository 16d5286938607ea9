// Cases E: pages repeat nothing, skip nothing, and say truly whether there is more.

import { afterEach, expect, it, vi } from 'vitest'
import { newSession } from '../spine/support.ts'

afterEach(() => {
  vi.useRealTimers()
})

it('E1 rows of one time come once each, also when one is changed between pages', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
  const session = await newSession()
  const keys = Array.from({ length: 205 }, (_, i) => `k${String(i).padStart(3, '0')}`)
  await session.wrote(keys.map((key) => ({ op: 'state.set', key, value: 0 })))
  await session.wrote(keys.map((payload) => ({ op: 'log.append', payload })))
  const seen: string[] = []
  let cursor = ''
  do {
    const page = await session.get(`/state?limit=50${cursor}`)
    seen.push(...page.items.map(({ key }: { key: string }) => key))
    await session.wrote([
      { op: 'state.set', key: 'k003', value: seen.length },
      { op: 'state.set', key: 'k204', value: 1 },
    ])
    await session.say('more')
    cursor = page.next === null ? '' : `&cursor=${page.next}`
  } while (cursor !== '')
  expect(seen).toEqual(keys)
  const log = await session.all('/log', 33)
  expect(new Set(log.map(({ seq }) => seq)).size).toBe(log.length)
})

it('E1 pages of a fixed version are that version’s, whatever is written meanwhile', async () => {
  const session = await newSession()
  await session.wrote(Array.from({ length: 30 }, (_, i) => ({ op: 'state.set', key: `k${i}`, value: i })))
  const first = await session.get('/state?at=1&limit=10')
  await session.wrote(Array.from({ length: 30 }, (_, i) => ({ op: 'state.delete', key: `k${i}` })))
  const second = await session.get(`/state?at=1&limit=1000&cursor=${first.next}`)
  expect(first.items.length + second.items.length).toBe(30)
})

it('E3 a limit of nothing is refused, a huge one is clamped, and the last page has no cursor', async () => {
  const session = await newSession()
  for (let i = 0; i < 2; i++)
    await session.wrote(Array.from({ length: 1000 }, () => ({ op: 'log.append', payload: i })))
  expect((await session.ask('GET', '/log?limit=0')).status).toBe(422)
  const page = await session.get('/log?limit=5000')
  expect(page.items).toHaveLength(1000)
  const last = await session.get(`/log?limit=1000&cursor=${page.next}`)
  expect([last.items.length, last.next]).toEqual([1000, null])
  expect((await session.get('/log?after=2000')).next).toBeNull()
})

it('E3 five thousand files of one folder are one folder, and cost no page', {
  timeout: 120_000,
}, async () => {
  const session = await newSession()
  const blob = await session.putBlob('x')
  for (let i = 0; i < 5; i++) {
    await session.wrote(
      Array.from({ length: 1000 }, (_, j) => ({ op: 'file.put', path: `many/${i}/${j}`, blob })),
    )
  }
  await session.wrote(['a', 'many.txt', 'z/1'].map((path) => ({ op: 'file.put', path, blob })))
  const shown = (items: { path?: string; prefix?: string }[]) =>
    items.map(({ path, prefix }) => path ?? prefix)
  for (const limit of [1, 2, 10]) {
    expect(shown(await session.all('/files?delimiter=/', limit))).toEqual(['a', 'many.txt', 'many/', 'z/'])
    expect(shown(await session.all('/files?delimiter=/&at=5', limit))).toEqual(['many/'])
  }
  const page = await session.get('/files?delimiter=/&limit=4')
  expect([page.items.length, page.next]).toEqual([4, null])
  expect(shown(await session.all('/files?delimiter=/&prefix=many/', 2))).toEqual([
    'many/0/',
    'many/1/',
    'many/2/',
    'many/3/',
    'many/4/',
  ])
})

it('E3 a page that ends early for its bytes has a cursor, and nothing is lost', {
  timeout: 120_000,
}, async () => {
  const session = await newSession()
  const payload = 'x'.repeat(200_000)
  for (let i = 0; i < 3; i++)
    await session.wrote(Array.from({ length: 20 }, () => ({ op: 'log.append', payload })))
  const page = await session.get('/log?limit=1000')
  expect(page.items.length).toBeLessThan(60)
  expect(page.next).not.toBeNull()
  expect((await session.all('/log', 1000)).map(({ seq }) => seq)).toEqual(
    Array.from({ length: 60 }, (_, i) => i + 1),
  )
})

it('E4 a filter comes before the limit', async () => {
  const session = await newSession()
  await session.wrote(Array.from({ length: 50 }, () => ({ op: 'log.append', payload: 1 })))
  await session.say('found', { type: 'rare', lane: 'inbox' })
  for (const query of ['type=rare', 'lane=inbox', 'type=rare&lane=inbox&order=desc']) {
    expect(await session.get(`/log?limit=1&${query}`)).toMatchObject({ items: [{ seq: 51 }], next: null })
  }
  await session.wrote([
    { op: 'state.set', key: 'a', value: 0 },
    { op: 'state.set', key: 'b', value: 1 },
  ])
  expect(await session.get('/state?prefix=b&limit=1')).toMatchObject({ items: [{ key: 'b' }], next: null })
})
