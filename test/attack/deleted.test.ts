// A session that is deleted while something long is under way in it: whatever was asked ends as done or as gone.

import { runDurableObjectAlarm } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { freshName, request, TestWorld } from '../support/world.ts'

async function populated(): Promise<TestWorld> {
  const world = await TestWorld.create()
  await world.commit(...Array.from({ length: 600 }, (_, i) => ({ op: 'state.set', key: `k${i}`, value: i })))
  for (let i = 0; i < 4; i++) await world.putFile(`f${i}`, `file ${i}`)
  await world.putFile('large', 'x'.repeat(100_000))
  await world.append('y'.repeat(400_000))
  await world.ok('POST', '/snapshots', { name: 'before' })
  return world
}

async function bury(world: TestWorld): Promise<void> {
  const stub = env.SESSION.get(env.SESSION.idFromName(`default/${world.name}`))
  for (let i = 0; i < 5 && (await runDurableObjectAlarm(stub)); i++);
}

const under = {
  snapshot: (world: TestWorld) => world.call('POST', '/snapshots', { name: 's' }),
  verify: (world: TestWorld) => world.call('GET', '/verify'),
  objects: (world: TestWorld) => world.call('GET', '/snapshots/before/objects'),
  erase: (world: TestWorld) => world.call('POST', '/erase', { refs: ['file:large', 'state:k1', 'file:f1'] }),
  fork: (world: TestWorld) => world.call('POST', '/forks', {}),
  upload: async (world: TestWorld) => {
    const begun = await world.call('POST', '/uploads', {})
    if (begun.status !== 201) return begun
    const part = await world.call('PUT', `/uploads/${begun.body.upload}/parts/1`, 'part')
    return part.status === 200
      ? world.call('POST', `/uploads/${begun.body.upload}/complete`, { parts: [1] })
      : part
  },
  merge: async (world: TestWorld) => {
    const other = await TestWorld.create()
    return world.call('POST', '/merge', { from: other.name })
  },
  wait: (world: TestWorld) => world.call('GET', '/log?after=1&wait=5'),
  recall: (world: TestWorld) => world.call('POST', '/recall', { query: 'x' }),
}

describe('a deletion in the middle of', () => {
  for (const [name, act] of Object.entries(under)) {
    it(name, async () => {
      for (const pause of [0, 2, 8]) {
        const world = await populated()
        const acting = act(world)
        await scheduler.wait(pause)
        const deleting = world.call('DELETE', '')
        const burying = deleting.then(() => bury(world))
        const { status, body } = await acting
        expect([name, pause, status < 300 || [404, 410, 422, 503].includes(status) || body]).toEqual([
          name,
          pause,
          true,
        ])
        expect((await deleting).status).toBe(204)
        await burying
        expect((await world.call('GET', '')).status).toBe(410)
      }
    })
  }

  it('a fork, which then has all it needs or never was', async () => {
    for (const pause of [0, 1, 2, 4, 8]) {
      const world = await populated()
      const child = freshName()
      const forking = world.call('POST', '/forks', { session: child })
      await scheduler.wait(pause)
      await world.call('DELETE', '')
      await bury(world)
      const forked = await forking
      const read = await request('GET', `/v1/sessions/${child}/state/k1`)
      expect([pause, forked.status, read.status]).toEqual([
        pause,
        ...(forked.status === 201 ? [201, 200] : [410, 404]),
      ])
      if (forked.status === 201) expect((await new TestWorld(child).all('/state')).length).toBe(600)
    }
  })
})
