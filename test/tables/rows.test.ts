import { describe, expect, it } from 'vitest'
import { session } from './api.ts'

const people = {
  columns: { id: 'int', name: { type: 'string', required: true }, admin: 'bool', age: 'float' },
  key: 'id',
}

async function withPeople() {
  const s = await session()
  await s.ok('PUT', '/tables/people', people)
  return s
}

describe('typed columns', () => {
  it('keep each type in one form', async () => {
    const s = await session()
    await s.ok('PUT', '/tables/t', {
      columns: {
        k: 'string',
        i: 'int',
        f: 'float',
        b: 'bool',
        ts: 'timestamp',
        d: 'date',
        u: 'uuid',
        j: 'json',
        a: 'array',
        v: 'vector(3)',
      },
      key: 'k',
    })
    const row = {
      k: 'a/b c',
      i: -9007199254740991,
      f: 1.5,
      b: false,
      ts: '2026-12-01T10:00:00+02:00',
      d: '2024-02-29',
      u: '123E4567-E89B-12D3-A456-426614174000',
      j: { lc: 1, $ref: 'x', deep: [null] },
      a: [],
      v: [1, 0.5, -2],
    }
    await s.ok('POST', '/tables/t/rows', { rows: [row, { k: 'empty' }] })
    expect(await s.ok('GET', '/tables/t/rows/a%2Fb%20c')).toEqual({
      ...row,
      ts: '2026-12-01T08:00:00.000Z',
      u: '123e4567-e89b-12d3-a456-426614174000',
      $key: 'a/b c',
      $since: 2,
    })
    expect(await s.ok('GET', '/tables/t/rows/empty')).toMatchObject({ k: 'empty', i: null, b: null, j: null })
  })

  it.each([
    ['i', 1.5],
    ['i', '1'],
    ['i', 9007199254740994],
    ['i', true],
    ['f', '1'],
    ['b', 1],
    ['b', 'true'],
    ['s', 1],
    ['ts', '2026-12-01'],
    ['ts', '2026-02-30T00:00:00Z'],
    ['ts', 5],
    ['d', '2026-02-29'],
    ['d', '2026-1-1'],
    ['u', 'x'],
    ['a', {}],
    ['v', [1, 2]],
    ['v', [1, 2, '3']],
    ['img', 'nope'],
    ['img', { blob: 'a'.repeat(64) }],
    ['nope', 1],
  ])('%s refuses %j, naming row and column, and nothing of the commit is written', async (column, value) => {
    const s = await session()
    await s.ok('PUT', '/tables/t', {
      columns: {
        i: 'int',
        f: 'float',
        b: 'bool',
        s: 'string',
        ts: 'timestamp',
        d: 'date',
        u: 'uuid',
        a: 'array',
        v: 'vector(3)',
        img: 'image',
      },
    })
    const refused = await s.commit(
      { op: 'state.set', key: 'x', value: 1 },
      { op: 'row.insert', table: 't', rows: [{ i: 1 }, { [column]: value }] },
    )
    expect(refused).toMatchObject({
      status: 422,
      body: { code: 'invalid', pointer: `/ops/1/rows/1/${column}` },
    })
    expect((await s.call('GET', '/state/x')).status).toBe(404)
    expect(await s.ok('POST', '/tables/t/query', {})).toEqual({ items: [], next: null })
  })

  it('true and false stay themselves, by row, by filter and by SQL', async () => {
    const s = await withPeople()
    await s.ok('POST', '/tables/people/rows', {
      rows: [
        { id: 1, name: 'a', admin: true },
        { id: 2, name: 'b', admin: false },
        { id: 3, name: 'c' },
      ],
    })
    const names = async (where: object) =>
      (await s.ok('POST', '/tables/people/query', { where, select: ['name'] })).items
    expect(await names({ admin: true })).toMatchObject([{ name: 'a' }])
    expect(await names({ admin: false })).toMatchObject([{ name: 'b' }])
    expect(await names({ admin: null })).toMatchObject([{ name: 'c' }])
    expect(await names({ admin: { $ne: true } })).toMatchObject([{ name: 'b' }, { name: 'c' }])
    expect(await names({ admin: 1 })).toEqual([])
  })

  it('media columns take blobs of this session alone, and know size and type', async () => {
    const s = await session()
    const png = [
      137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0,
    ]
    const blob = await s.blob(Uint8Array.from(png))
    await s.ok('PUT', '/tables/pics', {
      columns: { n: 'int', pic: { type: 'image', required: true } },
      key: 'n',
    })
    await s.ok('POST', '/tables/pics/rows', {
      rows: [
        { n: 1, pic: { blob, type: 'image/png', name: 'a.png' } },
        { n: 2, pic: blob },
      ],
    })
    expect(await s.ok('GET', '/tables/pics/rows/1')).toMatchObject({
      pic: { blob, size: 29, type: 'image/png', name: 'a.png' },
    })
    const wrong = await s.call('POST', '/tables/pics/rows', {
      rows: [{ n: 3, pic: { blob, type: 'text/html' } }],
    })
    expect(wrong).toMatchObject({ status: 422, body: { pointer: '/rows/0/pic' } })
    const found = await s.ok('POST', '/tables/pics/query', { where: { '/pic/name': 'a.png' } })
    expect(found.items).toHaveLength(1)
  })

  it('a JSON Schema on a json column is kept to', async () => {
    const s = await session()
    const schema = { type: 'object', required: ['lang'], properties: { lang: { enum: ['en', 'de'] } } }
    await s.ok('PUT', '/tables/t', { columns: { meta: { type: 'json', schema } } })
    await s.ok('POST', '/tables/t/rows', { rows: [{ meta: { lang: 'en' } }] })
    expect(await s.call('POST', '/tables/t/rows', { rows: [{ meta: { lang: 'fr' } }] })).toMatchObject({
      status: 422,
      body: { code: 'invalid', pointer: '/rows/0/meta' },
    })
    const slow = { columns: { meta: { type: 'json', schema: { pattern: '(a+)+$' } } } }
    expect(await s.call('PUT', '/tables/slow', slow)).toMatchObject({
      status: 422,
      body: { pointer: '/columns/meta/schema' },
    })
  })
})

describe('inserting', () => {
  it('refuses a key that is there, or replaces, or ignores, as told', async () => {
    const s = await withPeople()
    await s.ok('POST', '/tables/people/rows', { rows: [{ id: 1, name: 'a' }] })
    const rows = [
      { id: 2, name: 'b' },
      { id: 1, name: 'z' },
    ]
    expect(await s.call('POST', '/tables/people/rows', { rows })).toMatchObject({
      status: 409,
      body: { code: 'exists', pointer: '/rows/1/id' },
    })
    expect(await s.ok('POST', '/tables/people/rows', { rows, on_conflict: 'ignore' })).toMatchObject({
      count: 1,
      keys: ['2'],
    })
    expect(await s.ok('GET', '/tables/people/rows/1')).toMatchObject({ name: 'a' })
    expect(await s.ok('POST', '/tables/people/rows', { rows, on_conflict: 'replace' })).toMatchObject({
      count: 2,
    })
    expect(await s.ok('GET', '/tables/people/rows/1')).toMatchObject({ name: 'z' })
    expect(await s.ok('GET', '')).toMatchObject({ counts: { rows: 2 } })
  })

  it('one key twice in one insert is a conflict too', async () => {
    const s = await withPeople()
    const rows = [
      { id: 1, name: 'a' },
      { id: 1, name: 'b' },
    ]
    expect(await s.call('POST', '/tables/people/rows', { rows })).toMatchObject({
      status: 409,
      body: { pointer: '/rows/1/id' },
    })
    await s.ok('POST', '/tables/people/rows', { rows, on_conflict: 'replace' })
    expect(await s.ok('GET', '/tables/people/rows/1')).toMatchObject({ name: 'b' })
  })

  it('names rows of a table without a key, in order', async () => {
    const s = await session()
    await s.ok('PUT', '/tables/t', { columns: { n: 'int' } })
    const { keys } = await s.ok('POST', '/tables/t/rows', { rows: [{ n: 1 }, { n: 2 }, { n: 3 }] })
    expect([...(keys as unknown as string[])].sort()).toEqual(keys)
    expect(new Set(keys as unknown as string[]).size).toBe(3)
  })

  it('fills defaults, and a required column without a value is refused', async () => {
    const s = await session()
    await s.ok('PUT', '/tables/t', {
      columns: { k: { type: 'string', required: true }, n: { type: 'int', default: 7 } },
    })
    const { keys } = await s.ok('POST', '/tables/t/rows', { rows: [{ k: 'a' }] })
    expect(await s.ok('GET', `/tables/t/rows/${(keys as unknown as string[])[0]}`)).toMatchObject({
      k: 'a',
      n: 7,
    })
    expect(await s.call('POST', '/tables/t/rows', { rows: [{ n: 1 }] })).toMatchObject({
      status: 422,
      body: { pointer: '/rows/0/k' },
    })
  })

  it('keeps a unique column unique, among new rows and old, and lets values be given up and taken in one update', async () => {
    const s = await session()
    await s.ok('PUT', '/tables/t', {
      columns: { id: 'int', mail: { type: 'string', unique: true } },
      key: 'id',
    })
    await s.ok('POST', '/tables/t/rows', {
      rows: [{ id: 1, mail: 'a' }, { id: 2, mail: 'b' }, { id: 3 }, { id: 4 }],
    })
    const refused = (rows: object[]) => s.call('POST', '/tables/t/rows', { rows })
    expect(
      await refused([
        { id: 5, mail: 'c' },
        { id: 6, mail: 'a' },
      ]),
    ).toMatchObject({ status: 409, body: { pointer: '/rows/1/mail' } })
    expect(
      await refused([
        { id: 5, mail: 'c' },
        { id: 6, mail: 'c' },
      ]),
    ).toMatchObject({ status: 409, body: { pointer: '/rows/1/mail' } })
    expect(await s.call('POST', '/tables/t/update', { where: { id: 2 }, set: { mail: 'a' } })).toMatchObject({
      status: 409,
    })
    await s.ok('POST', '/tables/t/update', { where: { id: 1 }, set: { mail: 'a' } })
    await s.ok('DELETE', '/tables/t/rows/1')
    await s.ok('POST', '/tables/t/update', { where: { id: 2 }, set: { mail: 'a' } })
  })

  it('takes ten thousand rows in one commit', async () => {
    const s = await withPeople()
    const rows = Array.from({ length: 10_000 }, (_, i) => ({ id: i, name: `n${i}`, age: i / 2 }))
    expect(await s.ok('POST', '/tables/people/rows', { rows })).toMatchObject({ count: 10_000, version: 2 })
    expect(await s.ok('GET', '/tables/people')).toMatchObject({ rows: 10_000 })
    expect(
      (await s.ok('POST', '/tables/people/query', { where: { age: { $gte: 4999 } } })).items,
    ).toHaveLength(2)
  })
})

describe('updating and deleting', () => {
  it('by filter, all or nothing', async () => {
    const s = await withPeople()
    await s.ok('POST', '/tables/people/rows', {
      rows: [1, 2, 3].map((id) => ({ id, name: `n${id}`, age: id })),
    })
    expect(
      await s.ok('POST', '/tables/people/update', {
        where: { age: { $gt: 1 } },
        set: { admin: true, age: null },
      }),
    ).toMatchObject({ count: 2, keys: ['2', '3'] })
    expect(await s.ok('GET', '/tables/people/rows/2')).toEqual({
      id: 2,
      name: 'n2',
      admin: true,
      age: null,
      $key: '2',
      $since: 3,
    })
    expect(await s.call('POST', '/tables/people/update', { where: {}, set: { name: null } })).toMatchObject({
      status: 422,
      body: { pointer: '/set/name' },
    })
    expect(await s.call('POST', '/tables/people/update', { where: { nope: 1 }, set: {} })).toMatchObject({
      status: 422,
      body: { code: 'invalid', pointer: '/where/nope' },
    })
    expect(await s.call('POST', '/tables/people/update', { where: {}, set: { id: 9 } })).toMatchObject({
      status: 422,
      body: { pointer: '/set/id' },
    })
    expect(await s.ok('POST', '/tables/people/delete', { where: { admin: true } })).toMatchObject({
      count: 2,
    })
    expect(await s.ok('POST', '/tables/people/delete', { where: { admin: true } })).toMatchObject({
      count: 0,
      keys: [],
    })
    expect(await s.ok('GET', '/tables/people/rows')).toMatchObject({ items: [{ id: 1 }] })
  })

  it('one row under a condition', async () => {
    const s = await withPeople()
    await s.ok('POST', '/tables/people/rows', { rows: [{ id: 1, name: 'a' }] })
    const read = await s.call('GET', '/tables/people/rows/1')
    const etag = read.headers.get('etag') ?? ''
    expect((await s.call('GET', '/tables/people/rows/1', undefined, { 'if-none-match': etag })).status).toBe(
      304,
    )
    expect((await s.call('PATCH', '/tables/people/rows/1', { age: 3 }, { 'if-match': etag })).status).toBe(
      200,
    )
    expect((await s.call('PATCH', '/tables/people/rows/1', { age: 4 }, { 'if-match': etag })).status).toBe(
      412,
    )
    expect(
      await s.commit({ op: 'row.update', table: 'people', key: '1', set: { age: 5 }, if: { version: 3 } }),
    ).toMatchObject({ status: 201 })
    expect(await s.commit({ op: 'row.delete', table: 'people', key: '1', if: { version: 3 } })).toMatchObject(
      { status: 412 },
    )
    expect((await s.call('PATCH', '/tables/people/rows/9', { age: 1 })).status).toBe(404)
    expect((await s.call('DELETE', '/tables/people/rows/9')).status).toBe(404)
    expect((await s.call('DELETE', '/tables/people/rows/1')).status).toBe(200)
  })
})

describe('paging', () => {
  it('gives each row once while rows change between pages, for any order', async () => {
    const s = await withPeople()
    const rows = Array.from({ length: 205 }, (_, id) => ({
      id,
      name: 'same',
      ...(id % 3 === 0 ? {} : { age: id % 7 }),
      admin: id % 2 === 0,
    }))
    await s.ok('POST', '/tables/people/rows', { rows })
    for (const order of [undefined, 'age', '-age', ['-admin', 'age'], ['name', '-id']]) {
      const seen: number[] = []
      let cursor: string | undefined
      do {
        const page: { items: { id: number }[]; next: string | null } = JSON.parse(
          JSON.stringify(await s.ok('POST', '/tables/people/query', { order, limit: 20, cursor })),
        )
        seen.push(...page.items.map(({ id }) => id))
        cursor = page.next ?? undefined
        await s.ok('POST', '/tables/people/update', { where: { id: seen.at(-1) ?? 0 }, set: { age: 100 } })
      } while (cursor !== undefined)
      expect(seen).toHaveLength(205)
      expect(new Set(seen).size).toBe(205)
    }
  })

  it('filters before it limits', async () => {
    const s = await withPeople()
    await s.ok('POST', '/tables/people/rows', {
      rows: Array.from({ length: 60 }, (_, id) => ({ id, name: `n${id}` })),
    })
    expect(await s.ok('POST', '/tables/people/query', { where: { name: 'n51' }, limit: 1 })).toMatchObject({
      items: [{ id: 51 }],
      next: null,
    })
  })

  it('refuses a cursor of another list, a bad limit, an unknown column', async () => {
    const s = await withPeople()
    await s.ok('POST', '/tables/people/rows', {
      rows: [
        { id: 1, name: 'a' },
        { id: 2, name: 'b' },
      ],
    })
    const { next } = await s.ok('POST', '/tables/people/query', { limit: 1 })
    const ask = (body: object) => s.call('POST', '/tables/people/query', body)
    expect(await ask({ limit: 1, cursor: next, order: 'name' })).toMatchObject({
      status: 422,
      body: { pointer: '/cursor' },
    })
    expect(await ask({ limit: 0 })).toMatchObject({ status: 422 })
    expect(await ask({ order: 'nope' })).toMatchObject({ status: 422, body: { pointer: '/order/0' } })
    expect(await ask({ select: ['nope'] })).toMatchObject({ status: 422, body: { pointer: '/select/0' } })
    expect(await s.call('POST', '/tables/nope/query', {})).toMatchObject({ status: 404 })
  })
})
