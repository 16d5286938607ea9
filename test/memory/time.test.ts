import { env, exports } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { freshName, TestWorld } from '../support/world.ts'

const ids = (items: { id: string }[]) => items.map(({ id }) => id)
const recall = async (world: TestWorld, body: object) => (await world.ok('POST', '/recall', body)).items
const fork = async (world: TestWorld, body: object = {}) =>
  new TestWorld((await world.ok('POST', '/forks', body)).session)

async function remembered() {
  const world = await TestWorld.create()
  await world.commit(
    { op: 'memory.add', id: 'a', text: 'the quick brown fox', vector: [1, 0] },
    { op: 'memory.add', id: 'b', text: 'the lazy dog sleeps', vector: [0, 1] },
    { op: 'memory.add', id: 'c', text: 'quick thinking and getUserName', tags: ['t'], vector: [1, 1] },
    { op: 'memory.add', id: 'd', text: '设备清单 of quickness', vector: [-1, 0] },
  )
  return world
}

const questions = [
  { query: 'quick fox', mode: 'text' },
  { query: 'quick', mode: 'text', tags: ['t'] },
  { query: '清单', mode: 'text' },
  { query: 'username', mode: 'text' },
  { query: 'uick', mode: 'text' },
  { query: 'the', mode: 'text' },
  { query: 'the sleeps', mode: 'text' },
  { query: '-', mode: 'text' },
  { vector: [1, 0.1] },
  { query: 'quick', vector: [0, 1] },
  { query: 'quick', vector: [0, 1], filter: { id: { $lt: 'c' } } },
]

async function answers(world: TestWorld, at?: number) {
  const all = []
  for (const question of questions) {
    const items = await recall(world, at === undefined ? question : { ...question, at })
    all.push(
      items.map(({ id, score, why }: { id: string; score: number; why: Record<string, number | null> }) => ({
        id,
        score: score.toPrecision(6),
        why: [why.text?.toPrecision(6), why.vector?.toPrecision(6)],
      })),
    )
  }
  return all
}

describe('recall through time', () => {
  it('answers at a version what it answered when that was the head, to the score', async () => {
    const world = await remembered()
    const then = await answers(world)
    expect(then.filter((found) => found.length > 0).length).toBeGreaterThan(9)
    expect(await answers(world, 1)).toEqual(then)
    await world.commit(
      { op: 'memory.update', id: 'a', text: 'nothing of the kind', vector: [0, -1] },
      { op: 'memory.forget', id: 'c' },
      ...Array.from({ length: 300 }, (_, i) => ({
        op: 'memory.add',
        text: `quick filler ${i}`,
        vector: [1, i],
      })),
    )
    expect(await answers(world, 1)).toEqual(then)
    expect(await recall(world, { query: 'fox', mode: 'text' })).toEqual([])
    expect((await recall(world, { query: 'fox', mode: 'text', at: 1 }))[0]).toMatchObject({
      id: 'a',
      since: 1,
    })
    expect(await recall(world, { query: 'fox', at: 0 })).toEqual([])
  })

  it('is reverted with the world', async () => {
    const world = await remembered()
    const then = await answers(world)
    await world.commit(
      { op: 'memory.update', id: 'a', text: 'other words', vector: [0, -1] },
      { op: 'memory.forget', id: 'b' },
      { op: 'memory.add', id: 'new', text: 'quick fox too', vector: [1, 0] },
    )
    expect(await answers(world)).not.toEqual(then)
    await world.ok('POST', '/revert', { to: 1 })
    expect(await answers(world)).toEqual(then)
    expect((await world.ok('GET', '')).counts.memories).toBe(4)
  })

  it('is forked with the world, and each side goes its own way', async () => {
    const parent = await remembered()
    const then = await answers(parent)
    await parent.commit({ op: 'memory.forget', id: 'a' })
    const child = await fork(parent, { at: 1 })
    expect(await answers(child)).toEqual(then)
    const wrong = await child.call('POST', '/memories', { text: 'x', vector: [1, 2, 3] })
    expect(wrong.status).toBe(422)
    await child.ok('PATCH', '/memories/a', { text: 'only here' })
    expect(ids(await recall(child, { query: 'only here', mode: 'text' }))).toEqual(['a'])
    expect(await recall(parent, { query: 'only here', mode: 'text' })).toEqual([])
  })

  it('a fork that is written before it has its rows indexes them all the same', async () => {
    const parent = await remembered()
    const child = await fork(parent)
    await child.commit({ op: 'memory.update', id: 'b', text: 'changed at once' })
    expect(ids(await recall(child, { query: 'fox lazy changed', mode: 'text' })).sort()).toEqual(['a', 'b'])
    expect(await recall(child, { query: 'lazy', mode: 'text' })).toEqual([])
  })

  it('is merged with the world: memories of both sides, no conflict of ids', async () => {
    const parent = await remembered()
    const child = await fork(parent)
    await child.ok('POST', '/memories', { text: 'learned by the child', vector: [1, 0] })
    await child.commit({ op: 'memory.forget', id: 'd' })
    await parent.ok('POST', '/memories', { text: 'learned by the parent', vector: [0, 1] })
    const merged = await parent.ok('POST', '/merge', { from: child.name })
    expect(merged.conflicts).toEqual([])
    expect((await recall(parent, { query: 'learned', mode: 'text' })).length).toBe(2)
    expect(await recall(parent, { query: '清单', mode: 'text' })).toEqual([])
    expect((await recall(parent, { vector: [1, 0], k: 2 })).length).toBe(2)
  })

  it('a difference and a snapshot cover it without a word of its own', async () => {
    const world = await remembered()
    await world.ok('PATCH', '/memories/a', { text: 'changed' })
    const changed = await world.all('/diff?from=1&kind=memory')
    expect(changed).toMatchObject([{ ref: 'memory:a', change: 'changed' }])
    const one = await world.ok('POST', '/snapshots', { name: 'now' })
    await world.ok('DELETE', '/memories/b')
    await world.ok('POST', '/revert', { to: 'snap:now' })
    expect((await world.ok('POST', '/snapshots', { name: 'again' })).root).toBe(one.root)
    expect(ids(await recall(world, { query: 'lazy', mode: 'text', at: 'snap:now' }))).toEqual(['b'])
  })

  it('a session with memories can be deleted, and nothing of it stays', async () => {
    const world = await remembered()
    await recall(world, { query: 'quick' })
    await world.ok('DELETE', '')
    expect((await world.call('GET', '/memories')).status).toBe(410)
    expect((await world.call('POST', '/recall', { query: 'quick' })).status).toBe(410)
  })
})

describe('what is erased', () => {
  it('is found no more, and says so where it was', async () => {
    const world = await remembered()
    await world.ok('PATCH', '/memories/a', { text: 'brown bear', vector: [1, 0] })
    expect(ids(await recall(world, { query: 'bear', mode: 'text' }))).toEqual(['a'])
    await world.ok('POST', '/erase', { refs: ['memory:a'] })
    expect(await recall(world, { query: 'bear brown', mode: 'text' })).toEqual([])
    expect(ids(await recall(world, { vector: [1, 0] }))).not.toContain('a')
    expect(await recall(world, { query: 'fox', mode: 'text', at: 1 })).toEqual([])
    expect((await world.call('GET', '/memories/a')).body.code).toBe('gone')
    expect((await world.all('/memories'))[0]).toMatchObject({ id: 'a', erased: true })
    expect((await world.ok('GET', '/verify')).ok).toBe(true)
  })
})

describe('an import', () => {
  it('remembers what the archive held', async () => {
    const world = await remembered()
    const then = await answers(world)
    const as = { authorization: `Bearer ${env.LARES_ROOT_KEY}` }
    const archive = await exports.default.fetch(
      `https://lares.test/v1/sessions/${world.name}/export?journal=true`,
      { headers: as },
    )
    const name = freshName('taken')
    const taken = await exports.default.fetch(`https://lares.test/v1/import?session=${name}`, {
      method: 'POST',
      headers: { ...as, 'content-type': 'application/x-tar' },
      body: await archive.arrayBuffer(),
    })
    expect(taken.status).toBe(201)
    await taken.arrayBuffer()
    const copy = new TestWorld(name)
    expect(await answers(copy)).toEqual(then)
    expect(await copy.all('/memories')).toEqual(await world.all('/memories'))
  })
})
