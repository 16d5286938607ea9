import { describe, expect, it } from 'vitest'
import { project, projectSession } from '../../src/catalog/project.ts'
import { removeSession } from '../../src/catalog/remove.ts'
import { listSessions, type SessionOrder, type SessionQuery } from '../../src/catalog/sessions.ts'
import { counting } from './counting.ts'
import { addSession, batchOf, contents, db, everything, newFleet, rowAt, seeing } from './fixtures.ts'

const NOW = 1_000_000

async function list(fleet: string, query: Partial<SessionQuery> = {}) {
  const page = await listSessions(db, fleet, {
    order: 'id',
    limit: 100,
    visible: everything,
    now: NOW,
    ...query,
  })
  if (!page.ok) throw new Error(page.code)
  return page
}

async function ids(fleet: string, query: Partial<SessionQuery> = {}): Promise<string[]> {
  return (await list(fleet, query)).items.map((item) => item.session)
}

/** Every id of every page, and how many pages it took. */
async function walk(fleet: string, query: Partial<SessionQuery>, between?: (page: number) => Promise<void>) {
  const seen: string[] = []
  let after: string | null = null
  let pages = 0
  do {
    const page = await list(fleet, { ...query, after })
    seen.push(...page.items.map((item) => item.session))
    // A walk that stands still must fail, not hang.
    if (page.next !== null) expect(page.next).not.toBe(after)
    after = page.next
    pages += 1
    // A page that is not the last is full: `next` never leads to nothing.
    if (after !== null) expect(page.items).toHaveLength(query.limit ?? 100)
    if (pages > 1) expect(page.items.length).toBeGreaterThan(0)
    if (after !== null) await between?.(pages)
  } while (after !== null)
  return { seen, pages }
}

/** Many sessions in few statements: the projection's own rows, without its commits. */
async function addMany(
  fleet: string,
  names: string[],
  labels: (i: number) => Record<string, string> = () => ({}),
) {
  for (let i = 0; i < names.length; i += 500) {
    const some = names.slice(i, i + 500).map((name, j) => [name, JSON.stringify(labels(i + j))])
    await db.batch([
      db
        .prepare(
          `INSERT INTO sessions (fleet, session, version, projected_version, digest, labels, created_at, updated_at)
           SELECT ?1, value ->> 0, 0, 0, '', value ->> 1, 1000, 1000 FROM json_each(?2)`,
        )
        .bind(fleet, JSON.stringify(some)),
      db
        .prepare(
          `INSERT INTO session_labels (fleet, key, value, session)
           SELECT ?1, l.key, l.value, s.value ->> 0 FROM json_each(?2) AS s, json_each(s.value ->> 1) AS l`,
        )
        .bind(fleet, JSON.stringify(some)),
    ])
  }
}

const numbered = (count: number, prefix = 's') =>
  Array.from({ length: count }, (_, i) => `${prefix}${String(i).padStart(5, '0')}`)

describe('an item', () => {
  it('is a session with its version and how far its history is', async () => {
    const fleet = newFleet()
    await project(
      db,
      batchOf(fleet, 's', [[{ event: '1' }]], 1, 1, rowAt(3, { title: 'T', labels: { b: '2', a: '1' } })),
    )
    expect(await list(fleet)).toEqual({
      ok: true,
      next: null,
      items: [
        {
          session: 's',
          version: 3,
          projected_version: 1,
          title: 'T',
          labels: { a: '1', b: '2' },
          created_at: '1970-01-01T00:00:01.000Z',
          updated_at: '1970-01-01T00:00:01.003Z',
        },
      ],
    })
  })

  it('is never of another fleet, by any filter', async () => {
    const [mine, other] = [newFleet(), newFleet()]
    await addSession(mine, 'same', { title: 'mine', labels: { l: '1' } })
    await addSession(other, 'same', { title: 'other', labels: { l: '1', k: '2' } })
    await addSession(other, 'more', { title: 'other', labels: { l: '1' } })
    for (const query of [{}, { labels: { l: '1' } }, { prefix: 's' }, { q: 'm' }, { updated_after: 0 }]) {
      const { items } = await list(mine, query)
      expect(items.map((item) => item.title)).toEqual(['mine'])
    }
    expect(await ids(mine, { labels: { k: '2' } })).toEqual([])
    await removeSession(db, mine, 'same')
    expect(await ids(mine)).toEqual([])
    expect(await ids(other)).toEqual(['more', 'same'])
  })

  it('is gone once it has expired, and from the first step of its removal', async () => {
    const fleet = newFleet()
    await addSession(fleet, 'expired', { expires_at: NOW })
    await addSession(fleet, 'alive', { expires_at: NOW + 1 })
    await addSession(fleet, 'deleted', { labels: { a: '1' } })
    await removeSession(db, fleet, 'deleted', 0)
    expect(await ids(fleet)).toEqual(['alive'])
    expect(await ids(fleet, { labels: { a: '1' } })).toEqual([])
  })
})

describe('pages', () => {
  for (const order of ['updated', 'created', 'id'] as const) {
    it(`by ${order}: 205 sessions of one time come once each, in one order`, async () => {
      const fleet = newFleet()
      const names = numbered(205)
      await addMany(fleet, names)
      const expected = order === 'id' ? names : names.toReversed()
      for (const limit of [1, 7, 41, 100, 204, 205, 206]) {
        const { seen, pages } = await walk(fleet, { order, limit })
        expect(seen).toEqual(expected)
        expect(pages).toBe(Math.ceil(205 / limit))
      }
    })
  }

  it('E1: sessions that change between pages come once each, none is missed', async () => {
    for (const order of ['created', 'id'] as const) {
      const fleet = newFleet()
      const names = numbered(205)
      await addMany(fleet, names)
      const { seen } = await walk(fleet, { order, limit: 10 }, async (page) => {
        for (const name of [names[page * 7], names[200 - page], names[page]]) {
          const row = rowAt(0, { updated_at: 5000 + page })
          if (name) await projectSession(db, { fleet, session: name, row })
        }
      })
      expect(seen).toHaveLength(205)
      expect(new Set(seen).size).toBe(205)
    }
  })

  it('by update: a session that was shown does not come again, whatever changes', async () => {
    const fleet = newFleet()
    const names = numbered(205)
    await addMany(fleet, names)
    const { seen } = await walk(fleet, { order: 'updated', limit: 10 }, async (page) => {
      const row = rowAt(0, { updated_at: 5000 + page })
      // The list runs from the last name down: this one was on the page just given.
      const shown = names[205 - page * 10]
      if (shown) await projectSession(db, { fleet, session: shown, row })
    })
    expect(new Set(seen).size).toBe(205)
    expect(seen).toHaveLength(205)
  })

  it('newest come first', async () => {
    const fleet = newFleet()
    await addSession(fleet, 'a', { created_at: 1, updated_at: 30 })
    await addSession(fleet, 'b', { created_at: 3, updated_at: 10 })
    await addSession(fleet, 'c', { created_at: 2, updated_at: 20 })
    expect(await ids(fleet, { order: 'updated' })).toEqual(['a', 'c', 'b'])
    expect(await ids(fleet, { order: 'created' })).toEqual(['b', 'c', 'a'])
    expect(await ids(fleet, { order: 'id' })).toEqual(['a', 'b', 'c'])
  })

  it('a position that no page gave is an answer, not a fault', async () => {
    for (const [order, after] of [
      ['updated', 'x'],
      ['created', '-1/s'],
      ['updated', '/'],
      ['created', ''],
    ] satisfies [SessionOrder, string][]) {
      const query = { order, after, limit: 1, visible: everything }
      expect(await listSessions(db, newFleet(), query)).toEqual({ ok: false, code: 'bad_position' })
    }
  })

  it('a page reads its own rows, not the ones before it', async () => {
    const fleet = newFleet()
    await addMany(fleet, numbered(3000))
    for (const order of ['updated', 'created', 'id'] as const) {
      const half = order === 'id' ? 's01500' : '1000/s01500'
      const counted = counting(db)
      const page = await listSessions(counted.db, fleet, {
        order,
        after: half,
        limit: 10,
        visible: everything,
        now: NOW,
      })
      expect(page).toMatchObject({ ok: true, items: { length: 10 } })
      expect(counted.rowsRead()).toBeGreaterThan(0)
      // The row and its place in the index.
      expect(counted.rowsRead()).toBeLessThanOrEqual(2 * 11 + 2)
    }
  })
})

describe('filters', () => {
  it('prefix is bytewise; % and _ are plain', async () => {
    const fleet = newFleet()
    for (const name of ['acme', 'acme-corp', 'acme2', 'acm', 'acmf', 'a_me', 'Acme'])
      await addSession(fleet, name)
    expect(await ids(fleet, { prefix: 'acme' })).toEqual(['acme', 'acme-corp', 'acme2'])
    expect(await ids(fleet, { prefix: 'acme-corp' })).toEqual(['acme-corp'])
    expect(await ids(fleet, { prefix: 'a_me' })).toEqual(['a_me'])
    expect(await ids(fleet, { prefix: '%' })).toEqual([])
    expect(await ids(fleet, { prefix: 'a%' })).toEqual([])
    expect(await ids(fleet, { prefix: '' })).toHaveLength(7)
    expect(await ids(fleet, { prefix: 'a'.repeat(500) })).toEqual([])
    expect(await ids(fleet, { prefix: "'; DROP TABLE sessions; --" })).toEqual([])
    expect(await ids(fleet, { prefix: '\ud800' })).toEqual([])
  })

  it('q finds a part of id or title in any case', async () => {
    const fleet = newFleet()
    await addSession(fleet, 'Alpha', { title: null })
    await addSession(fleet, 'b', { title: 'Über alpha_beta 100%' })
    await addSession(fleet, 'c', { title: 'gamma' })
    expect(await ids(fleet, { q: 'ALPHA' })).toEqual(['Alpha', 'b'])
    expect(await ids(fleet, { q: 'über' })).toEqual(['b'])
    expect(await ids(fleet, { q: 'ÜBER' })).toEqual(['b'])
    expect(await ids(fleet, { q: '_' })).toEqual(['b'])
    expect(await ids(fleet, { q: '0%' })).toEqual(['b'])
    expect(await ids(fleet, { q: '*' })).toEqual([])
    expect(await ids(fleet, { q: '' })).toHaveLength(3)
  })

  it('labels intersect, and follow what a session says now', async () => {
    const fleet = newFleet()
    await addSession(fleet, 'a', { labels: { team: 'x', env: 'prod' } })
    await addSession(fleet, 'b', { labels: { team: 'x', env: 'dev' } })
    await addSession(fleet, 'c', { labels: { team: 'prod', env: 'x' } })
    expect(await ids(fleet, { labels: { team: 'x' } })).toEqual(['a', 'b'])
    expect(await ids(fleet, { labels: { team: 'x', env: 'prod' } })).toEqual(['a'])
    expect(await ids(fleet, { labels: { team: 'x', env: 'x' } })).toEqual([])
    expect(await ids(fleet, { labels: {} })).toHaveLength(3)
    await projectSession(db, {
      fleet,
      session: 'b',
      row: rowAt(1, { labels: { env: 'prod' }, updated_at: 9000 }),
    })
    expect(await ids(fleet, { labels: { team: 'x' } })).toEqual(['a'])
    expect(await ids(fleet, { labels: { env: 'prod' } })).toEqual(['a', 'b'])
  })

  it('64 labels at once, of names that mean something elsewhere', async () => {
    const fleet = newFleet()
    const labels = Object.fromEntries(Array.from({ length: 61 }, (_, i) => [`k${i}`, `v${i}`]))
    Object.assign(labels, { '%': '_', '$.a': '"', constructor: "'" })
    await addSession(fleet, 's', { labels })
    await addSession(fleet, 't', { labels: { ...labels, k7: 'other' } })
    expect(await ids(fleet, { labels })).toEqual(['s'])
  })

  it('5,000 sessions under one label: all of them, once', async () => {
    const fleet = newFleet()
    const names = numbered(5000)
    await addMany(fleet, names, (i) => ({ all: 'yes', own: `v${i}` }))
    expect((await walk(fleet, { labels: { all: 'yes' }, limit: 1000 })).seen).toEqual(names)
    expect(await ids(fleet, { labels: { all: 'yes', own: 'v4999' } })).toEqual(['s04999'])
    expect((await walk(fleet, { labels: { all: 'yes' }, order: 'updated', limit: 999 })).seen).toEqual(
      names.toReversed(),
    )
  })

  it('updated_after is strict', async () => {
    const fleet = newFleet()
    await addSession(fleet, 'a', { updated_at: 5000 })
    await addSession(fleet, 'b', { updated_at: 5001 })
    expect(await ids(fleet, { updated_after: 5000 })).toEqual(['b'])
    expect(await ids(fleet, { updated_after: 4999 })).toEqual(['a', 'b'])
  })

  it('E4: the only match is the last of many rows', async () => {
    const fleet = newFleet()
    await addMany(fleet, [...numbered(3000), 'x'])
    expect(await list(fleet, { q: 'x', limit: 1 })).toMatchObject({ items: [{ session: 'x' }], next: null })
  })
})

describe('what a caller may see', () => {
  it('is what its pattern matches, whatever else is asked', async () => {
    const fleet = newFleet()
    for (const name of ['acme', 'acme-1-x', 'acme-2-y', 'acme-22-x', 'beta-x', 'a_me-x'])
      await addSession(fleet, name)
    const see = (pattern: string, query: Partial<SessionQuery> = {}) =>
      ids(fleet, { visible: seeing(pattern), ...query })
    expect(await see('*')).toHaveLength(6)
    expect(await see('acme')).toEqual(['acme'])
    expect(await see('acme*')).toEqual(['acme', 'acme-1-x', 'acme-2-y', 'acme-22-x'])
    expect(await see('acme-*-x')).toEqual(['acme-1-x', 'acme-22-x'])
    expect(await see('*-x')).toEqual(['a_me-x', 'acme-1-x', 'acme-22-x', 'beta-x'])
    expect(await see('a_me*')).toEqual(['a_me-x'])
    expect(await see('*2*2*')).toEqual(['acme-22-x'])
    expect(await see('acme*', { prefix: 'b' })).toEqual([])
    expect(await see('acme*', { prefix: 'acme-2' })).toEqual(['acme-2-y', 'acme-22-x'])
  })

  it('fills its pages however rare it is, and next is there exactly when more follows', async () => {
    const fleet = newFleet()
    const names = numbered(5000)
    await addMany(fleet, names)
    // 12 then 34, in this order: SQL alone cannot tell 01234 from 03412.
    const pattern = '*12*34*'
    const visible = seeing(pattern)
    const expected = names.filter((name) => visible.matches(name))
    expect(expected.length).toBeGreaterThan(0)
    for (const limit of [1, 2, expected.length, 100]) {
      expect((await walk(fleet, { visible, limit })).seen).toEqual(expected)
    }
    // Only the code can judge here: the pattern narrows nothing.
    const odd = { pattern: '*', matches: (session: string) => session.endsWith('777') }
    expect((await walk(fleet, { visible: odd, limit: 2, order: 'updated' })).seen).toEqual([
      's04777',
      's03777',
      's02777',
      's01777',
      's00777',
    ])
  })
})

describe('removal', () => {
  it('takes every row of the session, in bounded steps, and no other', async () => {
    const fleet = newFleet()
    const history = Array.from({ length: 25 }, (_, i) => [
      { event: '1' },
      { kind: 'state', key: `k${i % 3}`, value: `${i}` },
      { kind: 'file', key: `f${i}`, value: `${i}` },
    ])
    const row = rowAt(25, { labels: { a: '1', b: '2' } })
    for (const session of ['gone', 'kept']) await project(db, batchOf(fleet, session, history, 1, 22, row))
    const kept = await contents(fleet, 'kept')
    let steps = 1
    while ((await removeSession(db, fleet, 'gone', 10)).more) {
      steps += 1
      // A batch that was under way when the session was deleted.
      expect(await project(db, batchOf(fleet, 'gone', history, 1, 25, row))).toMatchObject({
        ok: false,
        code: 'gone',
      })
    }
    // 22 versions, 44 entries, ten a step.
    expect(steps).toBe(5)
    expect(Object.values(await contents(fleet, 'gone')).flat()).toEqual([])
    expect(await contents(fleet, 'kept')).toEqual(kept)
    expect(await removeSession(db, fleet, 'gone')).toEqual({ more: false })
  })
})
