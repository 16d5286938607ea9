import { describe, expect, it } from 'vitest'
import { TestWorld } from '../support/world.ts'

async function pair() {
  const parent = await TestWorld.create()
  await parent.commit(
    { op: 'state.set', key: 'shared', value: 'base' },
    { op: 'state.set', key: 'other', value: 'base' },
    { op: 'log.append', payload: 'base' },
  )
  await parent.putFile('text.md', 'one\ntwo\nthree\nfour\nfive\n')
  const { session } = await parent.ok('POST', '/forks', {})
  return { parent, child: new TestWorld(session) }
}

const merge = (into: TestWorld, from: TestWorld, more: object = {}) =>
  into.call('POST', '/merge', { from: from.name, ...more })

describe('merge', () => {
  it('brings what the child changed, in one commit, with its events and their origin', async () => {
    const { parent, child } = await pair()
    await child.commit(
      { op: 'state.set', key: 'shared', value: 'child' },
      { op: 'log.append', payload: 'from the child' },
    )
    await child.set('new', true)
    await parent.set('other', 'parent')
    const { status, body } = await merge(parent, child)
    expect(status).toBe(201)
    expect(body).toMatchObject({ version: 4, applied: 3, conflicts: [] })
    expect(await parent.ok('GET', '/state/shared')).toBe('child')
    expect(await parent.ok('GET', '/state/other')).toBe('parent')
    expect(await parent.ok('GET', '/state/new')).toBe(true)
    const event = (await parent.all('/log')).at(-1)
    expect(event).toMatchObject({ payload: 'from the child', origin: { session: child.name, seq: 2 } })
  })

  it('lists conflicts and changes nothing; a strategy or a choice settles them', async () => {
    const { parent, child } = await pair()
    await child.set('shared', 'child')
    await child.set('other', 'child')
    await parent.set('shared', 'parent')
    await parent.set('other', 'parent')
    const refused = await merge(parent, child)
    expect(refused.body).toMatchObject({ status: 409, code: 'merge_conflict' })
    expect(refused.body.conflicts.map(({ ref }: { ref: string }) => ref)).toEqual([
      'state:other',
      'state:shared',
    ])
    expect((await parent.ok('GET', '')).version).toBe(4)
    const dry = await merge(parent, child, { dry_run: true })
    expect(dry.body.conflicts).toHaveLength(2)
    expect((await parent.ok('GET', '')).version).toBe(4)
    const settled = await merge(parent, child, { strategy: 'theirs', choices: { 'state:other': 'ours' } })
    expect(settled.status).toBe(201)
    expect(await parent.ok('GET', '/state/shared')).toBe('child')
    expect(await parent.ok('GET', '/state/other')).toBe('parent')
  })

  it('merges lines of a text file that both sides changed in different places', async () => {
    const { parent, child } = await pair()
    await child.putFile('text.md', 'ONE\ntwo\nthree\nfour\nfive\n')
    await parent.putFile('text.md', 'one\ntwo\nthree\nfour\nFIVE\n')
    expect((await merge(parent, child)).status).toBe(201)
    expect(await parent.file('text.md')).toBe('ONE\ntwo\nthree\nfour\nFIVE\n')
  })

  it('again brings only what came since, and no event twice', async () => {
    const { parent, child } = await pair()
    await child.commit({ op: 'state.set', key: 'shared', value: 1 }, { op: 'log.append', payload: 'first' })
    await merge(parent, child)
    await child.commit({ op: 'state.set', key: 'shared', value: 2 }, { op: 'log.append', payload: 'second' })
    expect((await merge(parent, child)).body).toMatchObject({ applied: 2, conflicts: [] })
    expect(await parent.ok('GET', '/state/shared')).toBe(2)
    expect((await parent.all('/log')).map(({ payload }) => payload)).toEqual(['base', 'first', 'second'])
  })

  it('refuses sessions that never met', async () => {
    const { parent } = await pair()
    const stranger = await TestWorld.create()
    expect((await merge(parent, stranger)).body.code).toBe('invalid')
    expect((await merge(parent, parent)).body.code).toBe('invalid')
  })
})

describe('diff', () => {
  it('says what was added, changed and removed, with hunks for text', async () => {
    const { parent } = await pair()
    await parent.commit(
      { op: 'state.set', key: 'added', value: 1 },
      { op: 'state.delete', key: 'other' },
      { op: 'log.append', payload: 'x' },
    )
    await parent.putFile('text.md', 'one\nTWO\nthree\nfour\nfive\n')
    const items = await parent.all('/diff?from=2&to=4')
    expect(items.map(({ ref, change }) => [ref, change])).toEqual([
      ['file:text.md', 'changed'],
      ['log:2', 'added'],
      ['state:added', 'added'],
      ['state:other', 'removed'],
    ])
    expect(items[0]?.hunks).toMatchObject([{ lines: [' one', '-two', '+TWO', ' three', ' four', ' five'] }])
    const back = await parent.all('/diff?from=4&to=2&limit=1')
    expect(back.map(({ change }) => change)).toEqual(['changed', 'removed', 'removed', 'added'])
    expect((await parent.all('/diff?from=2&to=4&kind=state&prefix=o')).map(({ ref }) => ref)).toEqual([
      'state:other',
    ])
    expect(await parent.all('/diff?from=4')).toEqual([])
  })

  it('of two sessions compares them entry by entry', async () => {
    const { parent, child } = await pair()
    await child.set('shared', 'child')
    const items = await parent.all(`/diff?with=${child.name}`)
    expect(items).toEqual([
      { ref: 'state:shared', change: 'changed', before: 'base', after: 'child', hunks: expect.anything() },
    ])
  })
})
