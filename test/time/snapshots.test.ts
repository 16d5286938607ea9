import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { TestWorld } from '../support/world.ts'

const snap = (world: TestWorld, name: string, more: object = {}) =>
  world.ok('POST', '/snapshots', { name, ...more })

describe('snapshots', () => {
  it('give equal worlds equal roots, whatever their history', async () => {
    const a = await TestWorld.create()
    const b = await TestWorld.create()
    for (let i = 0; i < 20; i++) await a.set(`k${i}`, { i })
    await b.set('k3', 'first something else')
    await b.commit(
      ...Array.from({ length: 20 }, (_, i) => ({ op: 'state.set', key: `k${19 - i}`, value: { i: 19 - i } })),
    )
    await a.putFile('f', 'same')
    await b.putFile('f', 'other')
    await b.putFile('f', 'same')
    const [one, other] = [await snap(a, 's'), await snap(b, 's')]
    expect(one.root).toBe(other.root)
    await b.set('k3', { i: 4 })
    expect((await snap(b, 't')).root).not.toBe(one.root)
    await b.set('k3', { i: 3 })
    expect((await snap(b, 'u')).root).toBe(one.root)
  })

  it('name a version that at= reads for ever', async () => {
    const world = await TestWorld.create()
    await world.set('a', 1)
    await snap(world, 'before')
    await world.set('a', 2)
    expect(await world.ok('GET', '/state/a?at=snap:before')).toBe(1)
    expect((await world.call('POST', '/snapshots', { name: 'before' })).body.code).toBe('exists')
    expect((await world.ok('GET', '/snapshots')).items).toHaveLength(1)
  })

  it('can be taken of a past version, and equal one taken then', async () => {
    const world = await TestWorld.create()
    await world.set('a', 1)
    await world.append('x')
    const then = await snap(world, 'then')
    await world.set('a', 2)
    await world.append('y')
    const later = await snap(world, 'later', { at: then.version })
    expect(later.root).toBe(then.root)
    expect(later.pages_written).toBe(0)
  })

  it('cut only pages in which something changed, to the same borders as cutting all anew', async () => {
    const world = await TestWorld.create()
    const many = (from: number, to: number, value: unknown) =>
      Array.from({ length: to - from }, (_, i) => ({
        op: 'state.set',
        key: `k${String(from + i).padStart(5, '0')}`,
        value,
      }))
    for (let i = 0; i < 3000; i += 1000) await world.commit(...many(i, i + 1000, 'v'))
    const first = await snap(world, 'first')
    expect(first.pages_written).toBeGreaterThan(12)
    await world.commit(...many(1500, 1501, 'changed'))
    const second = await snap(world, 'second')
    expect(second.pages_written).toBe(1)
    // Deleting every border there is, and more, must end as cutting from nothing does.
    for (let i = 0; i < 2900; i += 1000) {
      await world.commit(
        ...many(i, Math.min(i + 1000, 2900), 0).map(({ key }) => ({ op: 'state.delete', key })),
      )
    }
    const third = await snap(world, 'third')
    const fresh = await TestWorld.create()
    await fresh.commit(...many(2900, 3000, 'v'))
    expect((await snap(fresh, 'x')).root).toBe(third.root)
    await world.ok('POST', '/revert', { to: second.version })
    expect((await snap(world, 'back')).root).toBe(second.root)
  })

  it('D7 fail when a blob is missing, and leave no snapshot', async () => {
    const world = await TestWorld.create()
    await world.putFile('gone.bin', `x${'y'.repeat(100_000)}`)
    const { blob } = (await world.all('/files'))[0] as { blob: string }
    await env.BLOBS.delete(`fleets/default/blobs/${blob}`)
    expect((await world.call('GET', '/files/gone.bin')).body.code).toBe('corrupt')
    expect((await world.call('POST', '/snapshots', { name: 's' })).body.code).toBe('corrupt')
    expect((await world.ok('GET', '/snapshots')).items).toEqual([])
  })

  it('say which objects they consist of, each with its hash', async () => {
    const world = await TestWorld.create()
    await world.set('a', 1)
    await world.putFile('f', 'bytes')
    const { root } = await snap(world, 's')
    const objects = await world.all('/snapshots/s/objects')
    expect(objects.map(({ kind }) => kind)).toEqual(['manifest', 'page', 'blob', 'page'])
    expect(objects[0]?.sha256).toBe(root)
    for (const { r2_key, size } of objects as { r2_key: string; size: number }[]) {
      expect((await env.BLOBS.head(r2_key))?.size).toBeGreaterThanOrEqual(size)
    }
  })

  it('are dropped by name', async () => {
    const world = await TestWorld.create()
    await snap(world, 's')
    expect((await world.call('DELETE', '/snapshots/s')).status).toBe(204)
    expect((await world.call('DELETE', '/snapshots/s')).status).toBe(404)
    expect((await world.call('GET', '/state?at=snap:s')).body.code).toBe('no_such_version')
  })
})
