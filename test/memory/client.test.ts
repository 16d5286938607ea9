// The SDK's memory, speaking to the edge inside the same runtime.

import { env, exports } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { Lares } from '../../src/client/index.ts'
import { freshName } from '../support/world.ts'

const lares = new Lares({
  url: 'https://lares.test',
  token: env.LARES_ROOT_KEY,
  fetch: (input, init) => exports.default.fetch(new Request(input, init)),
})

test('a program remembers, recalls, changes, pins and forgets', async () => {
  const session = await lares.sessions.create(freshName())
  const { id, version } = await session.memory.add('Ada takes her tea without milk', {
    tags: ['person'],
    meta: { about: 'ada' },
  })
  await session.commit((tx) => {
    tx.memory.add('the build needs node 24', { id: 'build/node', tags: ['build'] })
    tx.memory.add('to be forgotten', { id: 'x' })
    tx.memory.update('x', { meta: { n: 1 } })
    tx.memory.forget('x')
  })
  const { items } = await session.memory.recall('what does Ada drink?', {
    k: 1,
    filter: { '/meta/about': 'ada' },
  })
  expect(items).toMatchObject([{ id, tags: ['person'], since: version }])
  await session.memory.update(id, { text: 'Ada takes her tea with milk', meta: { sure: true } })
  expect(await session.memory.get(id)).toMatchObject({ meta: { about: 'ada', sure: true }, pinned: false })
  await session.memory.pin(id)
  expect((await session.memory.list({ pinned: true }).all()).map((one) => one.id)).toEqual([id])
  await session.memory.unpin(id)
  expect(await session.memory.list({ pinned: true }).all()).toEqual([])
  expect((await session.memory.list({ tag: 'build' }).all()).map((one) => one.id)).toEqual(['build/node'])
  expect((await session.memory.list({ filter: { '/meta/sure': true } }).all()).length).toBe(1)
  await session.memory.forget(id)
  expect(await session.memory.get(id)).toBeUndefined()
  expect((await session.at(version).memory.get(id))?.text).toBe('Ada takes her tea without milk')
  expect((await session.at(version).memory.recall('tea')).items[0]?.id).toBe(id)
  await expect(session.memory.forget(id)).rejects.toMatchObject({ code: 'not_found' })
  await expect(session.memory.recall('x', { filter: { about: 1 } })).rejects.toMatchObject({
    pointer: '/filter/about',
  })
})

test('a program brings its own vectors', async () => {
  const session = await lares.sessions.create(freshName())
  await session.memory.configure({ provider: 'caller', model: 'mine', dims: 2 })
  await session.memory.add('north', { vector: [0, 1] })
  await session.memory.add('east', { vector: [1, 0] })
  const { items } = await session.memory.recall(null, { vector: [0.1, 1] })
  expect(items.map((one) => one.text)).toEqual(['north', 'east'])
  expect(await session.memory.settings()).toMatchObject({ model: 'mine', dims: 2, current: 2, missing: 0 })
  expect(await session.memory.reembed()).toBe(0)
})
