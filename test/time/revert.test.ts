import { describe, expect, it } from 'vitest'
import { TestWorld } from '../support/world.ts'

async function threeVersions() {
  const world = await TestWorld.create()
  await world.commit({ op: 'state.set', key: 'a', value: 1 }, { op: 'log.append', payload: 'one' })
  await world.putFile('notes.txt', 'first\n')
  await world.commit(
    { op: 'state.set', key: 'a', value: 2 },
    { op: 'state.set', key: 'b', value: 'new' },
    { op: 'log.append', payload: 'two' },
  )
  return world
}

const payloads = async (world: TestWorld, query = '') =>
  (await world.all(`/log${query}`)).map(({ payload }) => payload)

describe('revert', () => {
  it('makes the world what it was, as a new version, and loses nothing', async () => {
    const world = await threeVersions()
    const before = await world.contents('2')
    const head = await world.contents()
    const reverted = await world.ok('POST', '/revert', { to: 2 })
    expect(reverted.version).toBe(4)
    expect(await world.contents()).toEqual(before)
    expect(await world.contents('3')).toEqual(head)
    expect(await payloads(world, '?view=all')).toEqual(['one', 'two', { to: 1 }])
  })

  it('can be reverted, and all is there again', async () => {
    const world = await threeVersions()
    const head = await world.contents()
    await world.ok('POST', '/revert', { to: 1 })
    await world.append('aside')
    await world.ok('POST', '/revert', { to: 3 })
    expect(await world.contents()).toEqual(head)
  })

  it('D6 brings back what was deleted and edited, and takes away what was added', async () => {
    const world = await TestWorld.create()
    await world.putFile('a', 'A')
    await world.putFile('b', 'B')
    const { version } = await world.ok('GET', '')
    await world.commit({ op: 'file.delete', path: 'a' })
    await world.putFile('b', 'edited')
    await world.putFile('c', 'C')
    await world.ok('POST', '/revert', { to: version })
    expect(await world.file('a')).toBe('A')
    expect(await world.file('b')).toBe('B')
    expect((await world.call('GET', '/files/c')).status).toBe(404)
    expect(await world.file('c', `?at=${version + 3}`)).toBe('C')
  })

  it('reaches only the kinds and keys it is asked to', async () => {
    const world = await TestWorld.create()
    await world.commit({ op: 'state.set', key: 'x/1', value: 1 }, { op: 'state.set', key: 'y/1', value: 1 })
    await world.commit(
      { op: 'state.set', key: 'x/1', value: 2 },
      { op: 'state.set', key: 'y/1', value: 2 },
      { op: 'log.append', payload: 'kept' },
    )
    await world.ok('POST', '/revert', { to: 1, kinds: ['state'], prefix: 'x/' })
    expect(await world.ok('GET', '/state/x/1')).toBe(1)
    expect(await world.ok('GET', '/state/y/1')).toBe(2)
    expect(await payloads(world)).toEqual(['kept'])
  })

  it('D2 goes on from the branch it went back to: a correlation key that was cut away can come again', async () => {
    const world = await TestWorld.create()
    await world.append('step 1', { key: 'step-1' })
    await world.append('step 2, wrong', { key: 'step-2' })
    await world.ok('POST', '/revert', { to: 1 })
    await world.append('step 2, right', { key: 'step-2' })
    expect(await payloads(world)).toEqual(['step 1', 'step 2, right'])
    expect((await world.call('POST', '/log', { payload: 'again', key: 'step-2' })).body.code).toBe('exists')
  })

  it('lets a tool call whose result was cut away wait again', async () => {
    const world = await TestWorld.create()
    await world.append({ id: 'c1', name: 'ls', input: {} }, { type: 'tool_call' })
    await world.append({ call_id: 'c1', output: 'x' }, { type: 'tool_result' })
    expect(await world.all('/log/pending')).toHaveLength(0)
    await world.ok('POST', '/revert', { to: 1 })
    expect(await world.all('/log/pending')).toHaveLength(1)
    expect(await world.all('/log/pending?at=2')).toHaveLength(0)
  })

  it('D8 takes versions, times and snapshots by their own forms, and nothing else', async () => {
    const world = await threeVersions()
    expect((await world.call('POST', '/revert', { to: 99 })).body.code).toBe('no_such_version')
    expect((await world.call('POST', '/revert', { to: 'snap_3' })).body.code).toBe('invalid')
    expect((await world.call('POST', '/revert', { to: 'snap:none' })).body.code).toBe('no_such_version')
    expect((await world.call('POST', '/revert', {})).body.code).toBe('invalid')
    expect((await world.ok('GET', '')).version).toBe(3)
  })

  it('is fenced like any write, and answers a retry word for word', async () => {
    const world = await threeVersions()
    const key = { 'idempotency-key': 'r1' }
    const first = await world.ok('POST', '/revert', { to: 1 }, key)
    expect(await world.ok('POST', '/revert', { to: 1 }, key)).toEqual(first)
    await world.ok('POST', '/lease', { holder: 'h', ttl: 60 })
    expect((await world.call('POST', '/revert', { to: 1 })).body.code).toBe('fenced')
  })

  it('lets no client append a cut', async () => {
    const world = await threeVersions()
    expect((await world.call('POST', '/log', { type: 'lares.cut', payload: { to: 0 } })).body.code).toBe(
      'invalid',
    )
  })
})
