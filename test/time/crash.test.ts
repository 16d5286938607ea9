// Killed in the middle: every long operation ends as if it had never begun, or goes on and ends whole.

import { abortAllDurableObjects, runDurableObjectAlarm } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { freshName, TestWorld } from '../support/world.ts'

/** Milliseconds after which everything is killed: from before the first step to after the last. */
const moments = [0, 1, 2, 4, 8, 15, 30, 60, 120, 250]

async function populated(): Promise<TestWorld> {
  const world = await TestWorld.create()
  const ops = Array.from({ length: 700 }, (_, i) => ({ op: 'state.set', key: `k${i}`, value: `value ${i}` }))
  await world.commit(...ops, { op: 'log.append', payload: 'secret-marker' })
  await world.putFile('f.txt', 'bytes')
  return world
}

/** Begins something, kills every object a moment later, and waits for whatever answer there is. */
async function killed(moment: number, begin: () => Promise<unknown>): Promise<void> {
  const begun = begin().catch(() => {})
  await scheduler.wait(moment)
  await abortAllDurableObjects()
  await begun
}

const stubOf = (world: TestWorld) => env.SESSION.get(env.SESSION.idFromName(`default/${world.name}`))

async function quiet(world: TestWorld): Promise<void> {
  for (let i = 0; i < 100 && (await runDurableObjectAlarm(stubOf(world))); i++) await scheduler.wait(10)
}

describe.each(moments)('killed after %d ms', (moment) => {
  it('a snapshot is there whole, or not at all, and can be taken again', async () => {
    const world = await populated()
    await killed(moment, () => world.call('POST', '/snapshots', { name: 's' }))
    const { items } = await world.ok('GET', '/snapshots')
    expect(await world.ok('GET', '/verify')).toMatchObject({ ok: true, problems: [] })
    const again = await world.call('POST', '/snapshots', { name: 's' })
    expect(again.status).toBe(items.length === 1 ? 409 : 201)
    expect(await world.ok('GET', '/verify')).toMatchObject({ ok: true, problems: [] })
  })

  it('a fork takes over the rest, or was never made and can be made again', async () => {
    const world = await populated()
    const before = await world.contents()
    const session = freshName('fork')
    const key = { 'idempotency-key': 'one fork' }
    await killed(moment, async () => {
      await world.call('POST', '/forks', { session }, key)
      await new TestWorld(session).call('GET', '/state')
    })
    expect((await world.call('POST', '/forks', { session }, key)).status).toBe(201)
    expect(await new TestWorld(session).contents()).toEqual(before)
    expect(await new TestWorld(session).ok('GET', '/verify')).toMatchObject({ ok: true, problems: [] })
  })

  it('an erasure has not begun, or ends everywhere', async () => {
    const world = await populated()
    await world.ok('POST', '/snapshots', { name: 's' })
    await killed(moment, () => world.call('POST', '/erase', { refs: ['log:1'] }))
    const { status } = await world.call('GET', '/log/1')
    await quiet(world)
    const page = (await world.all('/snapshots/s/objects')).filter(({ kind }) => kind === 'page')
    const texts = await Promise.all(
      page.map(async ({ r2_key }) => (await env.BLOBS.get(String(r2_key)))?.text()),
    )
    expect(texts.some((text) => text?.includes('secret-marker'))).toBe(status === 200)
    expect(await world.ok('GET', '/verify')).toMatchObject({ ok: true, problems: [] })
  })

  it('a merge has happened once, or not at all', async () => {
    const world = await populated()
    const { session } = await world.ok('POST', '/forks', {})
    const child = new TestWorld(session)
    await child.commit(
      { op: 'state.set', key: 'k1', value: 'theirs' },
      { op: 'log.append', payload: 'theirs' },
    )
    const key = { 'idempotency-key': 'one merge' }
    await killed(moment, () => world.call('POST', '/merge', { from: session }, key))
    const merged = await world.call('POST', '/merge', { from: session }, key)
    expect(merged.status).toBe(201)
    expect(await world.ok('GET', '/state/k1')).toBe('theirs')
    expect((await world.all('/log')).map(({ payload }) => payload)).toEqual(['secret-marker', 'theirs'])
  })
})
