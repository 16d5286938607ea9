import { describe, expect, it } from 'vitest'
import { freshName, request, TestWorld } from '../support/world.ts'

const ids = (items: { id?: unknown }[]) => items.map(({ id }) => id)

describe('a memory', () => {
  it('is given an id by the commit: short, in order, and its own in every session', async () => {
    const world = await TestWorld.create()
    const first = await world.commit(
      ...Array.from({ length: 120 }, (_, i) => ({ op: 'memory.add', text: `note ${i}` })),
    )
    const one = await world.ok('POST', '/memories', { text: 'another' })
    const given = [...ids(first.results), one.id]
    expect(new Set(given).size).toBe(121)
    expect([...given].sort()).toEqual(given)
    expect(String(given[0]).length).toBeLessThan(16)
    const other = await TestWorld.create()
    expect((await other.ok('POST', '/memories', { text: 'note 0' })).id).not.toBe(given[0])
  })

  it('reads back whole, with an ETag, its version and its times', async () => {
    const world = await TestWorld.create()
    const added = await world.call('POST', '/memories', {
      id: 'likes/tea',
      text: 'Ada likes tea\u0000 with "milk" 🫖',
      tags: ['person', 'person', 'drink'],
      meta: { lang: 'en', n: 0, none: null, nested: { deep: [1] } },
      vector: [1, 0.5, -0.25],
      pinned: true,
      expires_at: '2099-01-01T02:00:00+02:00',
    })
    expect(added.status).toBe(201)
    const read = await world.call('GET', '/memories/likes/tea')
    expect(read.body).toEqual({
      id: 'likes/tea',
      text: 'Ada likes tea\u0000 with "milk" 🫖',
      tags: ['person', 'drink'],
      meta: { lang: 'en', n: 0, none: null, nested: { deep: [1] } },
      pinned: true,
      created_at: added.body.at,
      expires_at: '2099-01-01T00:00:00.000Z',
      model: 'caller',
      since: added.body.version,
    })
    expect((await world.ok('GET', '/memories/likes%2Ftea?vector=true')).vector).toEqual([1, 0.5, -0.25])
    const etag = read.headers.get('etag') ?? ''
    const again = await world.call('GET', '/memories/likes/tea', undefined, { 'if-none-match': etag })
    expect(again.status).toBe(304)
    expect(read.headers.get('lares-since')).toBe(String(added.body.version))
    const stale = await world.call(
      'PATCH',
      '/memories/likes/tea',
      { text: 'x' },
      { 'if-match': `"${'0'.repeat(64)}"` },
    )
    expect(stale.body.code).toBe('condition_failed')
    expect(
      (await world.call('PATCH', '/memories/likes/tea', { text: 'x' }, { 'if-match': etag })).status,
    ).toBe(200)
  })

  it('H11 keeps through an update what the update does not name, and history shows both', async () => {
    const world = await TestWorld.create()
    const { id, version } = await world.ok('POST', '/memories', {
      text: 'before',
      tags: ['t'],
      meta: { category: 'x', gone: 1 },
    })
    const was = await world.ok('GET', `/memories/${id}`)
    await world.ok('PATCH', `/memories/${id}`, { text: 'after', meta: { gone: null, more: true } })
    const is = await world.ok('GET', `/memories/${id}`)
    expect(is).toMatchObject({ text: 'after', tags: ['t'], meta: { category: 'x', more: true } })
    expect(is.meta).not.toHaveProperty('gone')
    expect(is.created_at).toBe(was.created_at)
    expect(await world.ok('GET', `/memories/${id}?at=${version}`)).toEqual(was)
    const [change] = (await world.ok('GET', `/commits/${version + 1}`)).ops
    expect(change).toMatchObject({ op: 'memory.update', ref: `memory:${id}`, value: { text: 'after' } })
  })

  it('is not added over another, not updated or deleted where there is none', async () => {
    const world = await TestWorld.create()
    await world.ok('POST', '/memories', { id: 'a', text: 'one' })
    expect((await world.call('POST', '/memories', { id: 'a', text: 'two' })).body).toMatchObject({
      code: 'exists',
      pointer: '/ops/0/id',
    })
    expect((await world.call('PATCH', '/memories/b', { text: 'x' })).status).toBe(404)
    expect((await world.call('DELETE', '/memories/b')).status).toBe(404)
    expect((await world.call('GET', '/memories/b')).status).toBe(404)
    expect((await world.call('DELETE', '/memories/a')).status).toBe(200)
    expect((await world.call('GET', '/memories/a')).status).toBe(404)
    // As an operation, forgetting what is not there is no failure.
    await world.commit({ op: 'memory.forget', id: 'a' })
  })

  it('is refused with a pointer when it is malformed or too large', async () => {
    const world = await TestWorld.create()
    const cases: [object, number, string][] = [
      [{}, 422, '/text'],
      [{ text: '' }, 422, '/text'],
      [{ text: 'x'.repeat(70_000) }, 413, '/text'],
      [{ text: '界'.repeat(30_000) }, 413, '/text'],
      [{ text: '\u0001'.repeat(60_000) }, 413, '/ops/0/text'],
      [{ text: 'x', meta: [] }, 422, '/meta'],
      [{ text: 'x', meta: { big: 'x'.repeat(20_000) } }, 413, '/meta'],
      [{ text: 'x', tags: 'a' }, 422, '/tags'],
      [{ text: 'x', tags: [''] }, 422, '/tags/0'],
      [{ text: 'x', expires_at: 'tomorrow' }, 422, '/expires_at'],
      [{ text: 'x', expires_at: '9999-12-31T23:00:00-05:00' }, 422, '/expires_at'],
      [{ text: 'x', id: '' }, 422, '/id'],
      [{ text: 'x', colour: 'red' }, 422, '/colour'],
      [{ text: 'x', vector: [] }, 422, '/vector'],
      [{ text: 'x', vector: [1, 'a'] }, 422, '/vector/1'],
    ]
    for (const [body, status, pointer] of cases) {
      const answer = await world.call('POST', '/memories', body)
      expect([answer.status, answer.body.pointer], JSON.stringify(body).slice(0, 60)).toEqual([
        status,
        pointer,
      ])
    }
    expect((await world.ok('GET', '')).version).toBe(0)
  })

  it('needs the scope to write, and a session to be in', async () => {
    const none = await request('POST', `/v1/sessions/${freshName()}/memories`, { text: 'x' })
    expect(none.status).toBe(404)
    const world = await TestWorld.create()
    const { token } = (
      await request('POST', '/v1/tokens', { session: world.name, scopes: ['read'], expires_in: 60 })
    ).body
    const as = { authorization: `Bearer ${token}` }
    expect((await world.call('POST', '/memories', { text: 'x' }, as)).status).toBe(403)
    expect((await world.call('PUT', '/memory', { provider: 'static' }, as)).status).toBe(403)
    expect((await world.call('POST', '/recall', { query: 'x' }, as)).status).toBe(200)
  })
})

describe('what has expired', () => {
  const past = () => new Date(Date.now() - 1000).toISOString()

  it('G6 is absent from get, list, recall and count at once, unswept, and reading does not revive it', async () => {
    const world = await TestWorld.create()
    await world.commit(
      { op: 'memory.add', id: 'gone', text: 'alpha beta', expires_at: past() },
      { op: 'memory.add', id: 'kept', text: 'alpha gamma' },
    )
    for (let look = 0; look < 2; look++) {
      expect((await world.call('GET', '/memories/gone')).status).toBe(404)
      expect(ids(await world.all('/memories'))).toEqual(['kept'])
      expect(ids((await world.ok('POST', '/recall', { query: 'alpha beta' })).items)).toEqual(['kept'])
      expect((await world.ok('GET', '')).counts.memories).toBe(1)
    }
    expect((await world.call('PATCH', '/memories/gone', { text: 'x' })).status).toBe(404)
    expect((await world.call('DELETE', '/memories/gone')).status).toBe(404)
    // Its id is free: as a condition sees it too.
    const again = await world.commit({ op: 'memory.add', id: 'gone', text: 'new', if: { absent: true } })
    expect((await world.ok('GET', '/memories/gone')).since).toBe(again.version)
    expect((await world.ok('GET', '')).counts.memories).toBe(2)
  })

  it('is swept by the next addition, as a change of that commit', async () => {
    const world = await TestWorld.create()
    await world.commit({ op: 'memory.add', id: 'gone', text: 'a', expires_at: past() })
    const { version } = await world.commit({ op: 'memory.add', id: 'new', text: 'b' })
    expect((await world.ok('GET', `/commits/${version}`)).ops).toMatchObject([
      { op: 'memory.expire', ref: 'memory:gone', digest: null },
      { op: 'memory.add', ref: 'memory:new' },
    ])
    expect((await world.ok('GET', '')).counts.memories).toBe(1)
  })

  it('is still there at a version of when it was, and stays when pinned', async () => {
    const world = await TestWorld.create()
    const soon = new Date(Date.now() + 1500).toISOString()
    const { version } = await world.commit(
      { op: 'memory.add', id: 'a', text: 'alpha', expires_at: soon },
      { op: 'memory.add', id: 'b', text: 'alpha', expires_at: soon, pinned: true },
    )
    await new Promise((resolve) => setTimeout(resolve, 1700))
    expect(ids(await world.all('/memories'))).toEqual(['b'])
    expect(ids(await world.all(`/memories?at=${version}`))).toEqual(['a', 'b'])
    await world.ok('PATCH', '/memories/b', { pinned: false })
    expect(ids(await world.all('/memories'))).toEqual([])
    expect(ids(await world.all(`/memories?at=${version}`))).toEqual(['a', 'b'])
  })
})

describe('the list of memories', () => {
  it('E1 E3 pages through each once, whatever is written between pages', async () => {
    const world = await TestWorld.create()
    await world.commit(
      ...Array.from({ length: 205 }, (_, i) => ({ op: 'memory.add', id: `m${i}`, text: `note ${i}` })),
    )
    const seen: unknown[] = []
    let next: string | null = ''
    while (next !== null) {
      const page: { items: { id: string }[]; next: string | null } = await world.ok(
        'GET',
        `/memories?limit=10${next === '' ? '' : `&cursor=${next}`}`,
      )
      seen.push(...ids(page.items))
      next = page.next
      await world.ok('PATCH', '/memories/m100', { meta: { touched: seen.length } })
    }
    expect(seen.length).toBe(205)
    expect(new Set(seen).size).toBe(205)
    expect((await world.call('GET', '/memories?limit=0')).status).toBe(422)
    expect((await world.ok('GET', '/memories?limit=205')).next).toBeNull()
  })

  it('E4 H13 shows what tag and filter leave, and refuses what it does not know', async () => {
    const world = await TestWorld.create()
    await world.commit(
      ...Array.from({ length: 60 }, (_, i) => ({
        op: 'memory.add',
        id: `m${String(i).padStart(2, '0')}`,
        text: `note ${i}`,
        tags: i % 2 === 0 ? ['even'] : ['odd'],
        meta: { user: i % 3 === 0 ? 'ada' : 'bob', agent: i % 5, flag: i === 51 },
      })),
    )
    const list = (filter: object, more = '') =>
      world.all(`/memories?filter=${encodeURIComponent(JSON.stringify(filter))}${more}`)
    expect(ids(await world.all('/memories?limit=1&filter={"/meta/flag":true}'))).toEqual(['m51'])
    expect(ids(await list({ '/meta/user': 'ada', '/meta/agent': 0 }))).toEqual(['m00', 'm15', 'm30', 'm45'])
    expect(ids(await list({ '/meta/user': 'ada', '/meta/agent': 0 }, '&tag=odd'))).toEqual(['m15', 'm45'])
    expect(ids(await list({ tags: { $contains: 'odd' }, text: { $contains: '7' } }))).toEqual([
      'm07',
      'm17',
      'm27',
      'm37',
      'm47',
      'm57',
    ])
    expect(ids(await list({ id: { $gte: 'm58' } }))).toEqual(['m58', 'm59'])
    expect((await list({ created_at: { $gt: '2000-01-01T00:00:00+01:00' }, pinned: false })).length).toBe(60)
    for (const filter of [
      '{"user":"ada"}',
      '{"/user":"ada"}',
      '{"/text/x":1}',
      '{"/meta/a":{"$near":1}}',
      '[]',
      'x',
    ]) {
      const answer = await world.call('GET', `/memories?filter=${encodeURIComponent(filter)}`)
      expect(answer.status, filter).toBe(422)
      const asked = await world.call('POST', '/recall', { query: 'note', filter: { user: 'ada' } })
      expect(asked.body).toMatchObject({ code: 'invalid', pointer: '/filter/user' })
    }
    expect((await world.call('GET', '/memories?colour=red')).status).toBe(422)
  })

  it('C7 keeps true and false apart from 1 and 0', async () => {
    const world = await TestWorld.create()
    await world.commit(
      { op: 'memory.add', id: 'a', text: 'x', meta: { on: true }, pinned: true },
      { op: 'memory.add', id: 'b', text: 'x', meta: { on: 1 } },
      { op: 'memory.add', id: 'c', text: 'x', meta: { on: 'true' }, pinned: false },
    )
    expect(ids(await world.all('/memories?filter={"/meta/on":true}'))).toEqual(['a'])
    expect(ids(await world.all('/memories?filter={"/meta/on":1}'))).toEqual(['b'])
    expect(ids(await world.all('/memories?pinned=true'))).toEqual(['a'])
    expect(ids(await world.all('/memories?pinned=false'))).toEqual(['b', 'c'])
    expect((await world.ok('GET', '/memories/a')).pinned).toBe(true)
  })
})
