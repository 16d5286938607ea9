import { describe, expect, it } from 'vitest'
import { freshName, request, TestWorld } from '../support/world.ts'

async function fork(world: TestWorld, body: object = {}): Promise<TestWorld> {
  const { session } = await world.ok('POST', '/forks', body)
  return new TestWorld(session)
}

async function populated() {
  const world = await TestWorld.create()
  await world.commit({ op: 'state.set', key: 'a', value: 1 }, { op: 'log.append', payload: 'one', key: 'k1' })
  await world.putFile('f.txt', 'bytes of the parent')
  await world.commit({ op: 'state.set', key: 'a', value: 2 }, { op: 'state.set', key: 'b', value: [] })
  await world.commit({ op: 'state.delete', key: 'b' }, { op: 'log.append', payload: 'two' })
  return world
}

describe('a fork', () => {
  it('begins as its parent was, with its version, its chain and its history', async () => {
    const parent = await populated()
    const child = await fork(parent)
    const described = await child.ok('GET', '')
    const { version, digest } = await parent.ok('GET', '')
    expect(described).toMatchObject({ version, digest, origin: { session: parent.name, version } })
    expect(await child.contents()).toEqual(await parent.contents())
    for (let v = 0; v <= version; v++)
      expect(await child.contents(String(v))).toEqual(await parent.contents(String(v)))
    expect(await child.all('/commits')).toEqual(await parent.all('/commits'))
    expect(await child.file('f.txt')).toBe('bytes of the parent')
  })

  it('begins at an earlier version, though the parent has moved on', async () => {
    const parent = await populated()
    const child = await fork(parent, { at: 3 })
    expect(await child.ok('GET', '/state/b')).toEqual([])
    expect(await child.contents()).toEqual(await parent.contents('3'))
    expect((await child.call('GET', '/state?at=4')).body.code).toBe('no_such_version')
    expect((await child.set('a', 'mine')).version).toBe(4)
    expect(await parent.ok('GET', '/state/a')).toBe(2)
  })

  it('answers one key and takes an event before it has its parent\u2019s rows', async () => {
    const parent = await populated()
    const child = await fork(parent)
    expect(await child.ok('GET', '/state/a')).toBe(2)
    expect((await child.append('first of its own')).results).toEqual([{ seq: 3 }])
  })

  it('knows its parent\u2019s correlation keys and tool calls', async () => {
    const parent = await populated()
    const child = await fork(parent)
    expect((await child.call('POST', '/log', { payload: 'x', key: 'k1' })).body.code).toBe('exists')
  })

  it('D3 lives on when its parent is deleted, at once and later', async () => {
    const parent = await populated()
    const was = await parent.contents()
    const child = await fork(parent)
    const grandchild = await fork(child, { at: 3 })
    const then = await parent.contents('3')
    expect((await parent.call('DELETE', '')).status).toBe(204)
    expect((await parent.call('GET', '')).status).toBe(410)
    expect(await child.contents()).toEqual(was)
    expect(await grandchild.contents()).toEqual(then)
    expect(await child.file('f.txt')).toBe('bytes of the parent')
  })

  it('is made once for an idempotency key', async () => {
    const parent = await populated()
    const key = { 'idempotency-key': freshName() }
    const first = await parent.ok('POST', '/forks', {}, key)
    await parent.set('a', 3)
    expect(await parent.ok('POST', '/forks', {}, key)).toEqual(first)
    expect((await parent.call('POST', '/forks', { session: first.session })).body.code).toBe('exists')
  })

  it('of a session that is not there leaves nothing', async () => {
    const name = freshName()
    const child = freshName()
    expect((await request('POST', `/v1/sessions/${name}/forks`, { session: child })).status).toBe(404)
    expect((await request('GET', `/v1/sessions/${child}`)).status).toBe(404)
  })

  it('shares pages with its parent: a snapshot of it uploads only what changed', async () => {
    const parent = await TestWorld.create()
    const ops = Array.from({ length: 1000 }, (_, i) => ({ op: 'state.set', key: `k${i}`, value: i }))
    await parent.commit(...ops)
    const one = await parent.ok('POST', '/snapshots', { name: 's' })
    const child = await fork(parent)
    const other = await child.ok('POST', '/snapshots', { name: 's' })
    expect(other.root).toBe(one.root)
    expect(other.pages_written).toBe(0)
  })
})
