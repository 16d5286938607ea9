// Forks, erasures, retention and retries where they meet.

import { runDurableObjectAlarm } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, it } from 'vitest'
import { archiveOf, importInto } from '../archive/support.ts'
import { freshName, TestWorld } from '../support/world.ts'

async function forkOf(world: TestWorld, body: object = {}): Promise<TestWorld> {
  return new TestWorld((await world.ok('POST', '/forks', body)).session)
}

async function alarms(world: TestWorld): Promise<void> {
  const stub = env.SESSION.get(env.SESSION.idFromName(`default/${world.name}`))
  for (let i = 0; i < 10 && (await runDurableObjectAlarm(stub)); i++);
}

async function pruned(world: TestWorld): Promise<TestWorld> {
  await world.ok('PATCH', '', { retention: { versions: 1 } })
  for (let i = 0; i < 100; i++) {
    await world.set('tick', i)
    await alarms(world)
    if ((await world.call('GET', '/state?at=1')).status === 410) return world
  }
  throw new Error('nothing was pruned')
}

async function written(): Promise<TestWorld> {
  const world = await TestWorld.create()
  for (let i = 1; i <= 5; i++) await world.set('a', i)
  return world
}

it('a fork of a world that has pruned its past does not make one up', async () => {
  const parent = await pruned(await written())
  const child = await forkOf(parent)
  expect((await child.call('GET', '/state?at=1')).body.code).toBe('gone')
  expect((await child.call('GET', '/state/a?at=1')).body.code).toBe('gone')
  expect(await child.ok('GET', '/state/a')).toBe(5)
})

it('a fork of a world that came without its past has none either, and verifies', async () => {
  const parent = await written()
  const name = freshName()
  expect((await importInto(name, await archiveOf(parent))).status).toBe(201)
  const child = await forkOf(new TestWorld(name))
  expect((await child.call('GET', '/state/a?at=2')).body.code).toBe('no_such_version')
  expect((await child.call('GET', '/state?at=2')).body.code).toBe('no_such_version')
  expect(await child.ok('GET', '/verify')).toMatchObject({ ok: true, problems: [] })
  expect((await child.set('a', 6)).version).toBe(6)
})

it('a fork that still takes over does not answer of a version to come', async () => {
  const child = await forkOf(await written())
  expect((await child.call('GET', '/state/a?at=99')).body.code).toBe('no_such_version')
})

it('forks that failed, and forks asked for twice, do not hold retention up', async () => {
  const parent = await written()
  const other = await TestWorld.create()
  const key = { 'idempotency-key': freshName() }
  const first = await parent.ok('POST', '/forks', {}, key)
  await new TestWorld(first.session).ok('GET', '/state')
  expect(await parent.ok('POST', '/forks', {}, key)).toEqual(first)
  expect((await parent.call('POST', '/forks', { session: other.name })).status).toBe(409)
  await pruned(parent)
})

it('a retried merge, revert and snapshot get their first answers, whatever has become of what they name', async () => {
  const parent = await written()
  const child = await forkOf(parent)
  await child.set('b', 1)
  await parent.ok('POST', '/snapshots', { name: 's', at: 2 })
  const retried = async (path: string, body: object, between: () => Promise<unknown>) => {
    const key = { 'idempotency-key': freshName() }
    const first = await parent.call('POST', path, body, key)
    expect([path, first.status]).toEqual([path, 201])
    await between()
    const again = await parent.call('POST', path, body, key)
    expect([path, again.status, again.body]).toEqual([path, 201, first.body])
  }
  await retried('/merge', { from: child.name }, () => child.ok('DELETE', ''))
  await retried('/revert', { to: 'snap:s' }, () => parent.ok('DELETE', '/snapshots/s'))
  await retried('/snapshots', { name: 't' }, () => parent.set('c', 1))
})

it('an erasure leaves what a fork wrote itself of the same bytes, and takes them when nobody names them', async () => {
  const parent = await TestWorld.create()
  await parent.putFile('f', 'bytes that are named twice')
  await parent.putFile('g', 'their neighbour in the pack')
  // Packs both into one object.
  await parent.ok('POST', '/snapshots', { name: 's' })
  const child = await forkOf(parent)
  await child.commit({ op: 'file.copy', path: 'f', to: 'own' })
  await parent.ok('POST', '/erase', { refs: ['file:f'] })
  expect((await parent.call('GET', '/files/f')).status).toBe(410)
  expect((await child.call('GET', '/files/f')).status).toBe(410)
  expect(await child.file('own')).toBe('bytes that are named twice')
  expect(await child.file('g')).toBe('their neighbour in the pack')
  expect(await child.ok('GET', '/verify')).toMatchObject({ ok: true })
  await child.ok('POST', '/erase', { refs: ['file:own'] })
  expect(await inR2('bytes that are named twice')).toBe(false)
  expect(await inR2('their neighbour in the pack')).toBe(true)
})

it('erasures of two sessions in one pack at the same time are both done', async () => {
  const parent = await TestWorld.create()
  for (const n of [1, 2, 3]) await parent.putFile(`f${n}`, `marker number ${n} of the pack`)
  await parent.ok('POST', '/snapshots', { name: 's' })
  const child = await forkOf(parent)
  await child.ok('GET', '/files')
  await Promise.all([
    parent.ok('POST', '/erase', { refs: ['file:f1'] }),
    child.ok('POST', '/erase', { refs: ['file:f2'] }),
  ])
  expect(await Promise.all([1, 2, 3].map((n) => inR2(`marker number ${n} of the pack`)))).toEqual([
    false,
    false,
    true,
  ])
})

it('a value that is named twice is erased once', async () => {
  const world = await written()
  const { version } = await world.ok('GET', '')
  const refs = ['state:a', 'state:a', `state:a@${version}`]
  expect(await world.ok('POST', '/erase', { refs })).toEqual({ version: version + 1, erased: version })
})

it('bytes may be put again once they were erased', async () => {
  const world = await TestWorld.create()
  await world.putFile('f', 'put, erased, put')
  await world.ok('POST', '/snapshots', { name: 's' })
  await world.ok('POST', '/erase', { refs: ['file:f'] })
  await world.putFile('f', 'put, erased, put')
  expect(await world.file('f')).toBe('put, erased, put')
})

async function inR2(text: string): Promise<boolean> {
  for (let cursor: string | undefined; ; ) {
    const page: R2Objects = await env.BLOBS.list(cursor === undefined ? {} : { cursor })
    for (const { key } of page.objects)
      if ((await (await env.BLOBS.get(key))?.text())?.includes(text)) return true
    if (!page.truncated) return false
    cursor = page.cursor
  }
}

it('a merge from a fork that has pruned its past says so, and loses no deletion', async () => {
  const parent = await written()
  await parent.set('b', 1)
  const child = await forkOf(parent)
  await child.commit({ op: 'state.delete', key: 'b' })
  await child.ok('PATCH', '', { retention: { versions: 1 } })
  const { origin } = await child.ok('GET', '')
  for (let i = 0; (await child.call('GET', `/state?at=${origin.version}`)).status !== 410; i++) {
    if (i > 100) throw new Error('nothing was pruned')
    await child.set('tick', i)
    await alarms(child)
  }
  const merged = await parent.call('POST', '/merge', { from: child.name })
  expect([merged.status, merged.body.code]).toEqual([410, 'gone'])
})
