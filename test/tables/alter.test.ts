import { describe, expect, it } from 'vitest'
import { session } from './api.ts'

async function notes() {
  const s = await session()
  await s.ok('PUT', '/tables/notes', { columns: { id: 'int', title: 'string', stars: 'int' }, key: 'id' })
  await s.ok('POST', '/tables/notes/rows', {
    rows: [
      { id: 1, title: 'a', stars: 3 },
      { id: 2, title: 'b' },
    ],
  })
  return s
}

describe('altering a table', () => {
  it('renames, drops, adds and widens without touching a row, and old versions show old columns', async () => {
    const s = await notes()
    await s.ok('PATCH', '/tables/notes', {
      rename: { title: 'name' },
      drop: ['stars'],
      add: { title: { type: 'bool', default: true }, stars: 'string' },
    })
    expect(await s.ok('GET', '/tables/notes/rows/1')).toEqual({
      id: 1,
      name: 'a',
      title: true,
      stars: null,
      $key: '1',
      $since: 2,
    })
    expect(await s.ok('GET', '/tables/notes/rows/1?at=2')).toEqual({
      id: 1,
      title: 'a',
      stars: 3,
      $key: '1',
      $since: 2,
    })
    await s.ok('POST', '/tables/notes/update', { where: { name: 'a' }, set: { title: null, stars: 'x' } })
    expect(await s.ok('GET', '/tables/notes/rows/1')).toMatchObject({ name: 'a', title: null, stars: 'x' })
    expect(await s.ok('POST', '/tables/notes/query', { where: { title: true } })).toMatchObject({
      items: [{ id: 2 }],
    })
    expect(await s.ok('POST', '/tables/notes/query', { where: { title: null } })).toMatchObject({
      items: [{ id: 1 }],
    })
    expect(await s.ok('POST', '/tables/notes/query', { where: { title: 'b' }, at: 2 })).toMatchObject({
      items: [{ id: 2 }],
    })
    await s.ok('POST', '/revert', { to: 2 })
    expect(await s.ok('GET', '/tables/notes/rows/1')).toMatchObject({ title: 'a', stars: 3 })
  })

  it('widens a type and never narrows one', async () => {
    const s = await notes()
    const change = (type: string) => s.call('PATCH', '/tables/notes', { change: { stars: type } })
    expect((await change('float')).status).toBe(200)
    await s.ok('POST', '/tables/notes/rows', { rows: [{ id: 3, stars: 1.5 }] })
    expect(await change('int')).toMatchObject({ status: 422, body: { pointer: '/change/stars/type' } })
    expect(await change('string')).toMatchObject({ status: 422 })
    expect((await change('json')).status).toBe(200)
    expect(await s.ok('GET', '/tables/notes/rows/3')).toMatchObject({ stars: 1.5 })
  })

  it('makes a column required or unique only where the rows allow it', async () => {
    const s = await notes()
    const change = (column: object) => s.call('PATCH', '/tables/notes', { change: column })
    expect(await change({ stars: { type: 'int', required: true } })).toMatchObject({ status: 422 })
    expect((await change({ title: { type: 'string', required: true } })).status).toBe(200)
    await s.ok('POST', '/tables/notes/rows', { rows: [{ id: 3, title: 'a' }] })
    expect(await change({ title: { type: 'string', unique: true } })).toMatchObject({ status: 422 })
    expect(
      await s.call('PATCH', '/tables/notes', { add: { x: { type: 'int', required: true } } }),
    ).toMatchObject({ status: 422, body: { pointer: '/add/x/default' } })
  })

  it('a definition put again changes nothing, and one that would lose a column is refused', async () => {
    const s = await notes()
    const same = { columns: { id: 'int', title: 'string', stars: 'int' }, key: 'id' }
    await s.ok('PUT', '/tables/notes', same)
    expect(await s.ok('GET', '/tables/notes')).toMatchObject({ since: 1, rows: 2 })
    await s.ok('PUT', '/tables/notes', { ...same, columns: { ...same.columns, more: 'json' } })
    expect(await s.call('PUT', '/tables/notes', same)).toMatchObject({
      status: 409,
      body: { code: 'exists', pointer: '/columns' },
    })
  })

  it('refuses names that SQL could not tell apart, and unknown columns', async () => {
    const s = await notes()
    for (const name of ['Notes', 'log', 'sqlite_x', '1a', 'a-b', 'entries/x'])
      expect(
        (await s.call('PUT', `/tables/${encodeURIComponent(name)}`, { columns: { a: 'int' } })).status,
      ).not.toBe(201)
    expect(await s.call('PUT', '/tables/t', { columns: { a: 'int', A: 'int' } })).toMatchObject({
      status: 409,
    })
    expect(await s.call('PUT', '/tables/t', { columns: { a: 'number' } })).toMatchObject({ status: 422 })
    expect(await s.call('PUT', '/tables/t', { columns: { a: 'int' }, key: 'b' })).toMatchObject({
      status: 422,
      body: { pointer: '/key' },
    })
    expect(await s.call('PATCH', '/tables/notes', { drop: ['id'] })).toMatchObject({
      status: 422,
      body: { pointer: '/drop/0' },
    })
    expect(await s.call('PATCH', '/tables/notes', { drop: ['nope'] })).toMatchObject({ status: 422 })
  })

  it('dropping takes the rows along, and the name is free again', async () => {
    const s = await notes()
    await s.ok('DELETE', '/tables/notes')
    expect((await s.call('GET', '/tables/notes')).status).toBe(404)
    expect((await s.call('GET', '/tables/notes/rows/1')).status).toBe(404)
    expect(await s.ok('GET', '/tables/notes/rows/1?at=2')).toMatchObject({ title: 'a' })
    expect(await s.ok('GET', '')).toMatchObject({ counts: { rows: 0 } })
    await s.ok('PUT', '/tables/notes', { columns: { other: 'int' } })
    expect((await s.ok('GET', '/tables/notes/rows')).items).toEqual([])
    expect((await s.call('DELETE', '/tables/nope')).status).toBe(404)
  })
})

describe('an expression column', () => {
  it('is computed in the same commit, and again when an input changes', async () => {
    const s = await session()
    await s.ok('PUT', '/tables/items', {
      columns: {
        id: 'int',
        price: 'float',
        n: 'int',
        total: { type: 'float', computed: 'price * n' },
        big: { type: 'bool', computed: 'price * n > 10' },
      },
      key: 'id',
    })
    await s.ok('POST', '/tables/items/rows', {
      rows: [{ id: 1, price: 2.5, n: 2 }, { id: 2, price: 6, n: 3 }, { id: 3 }],
    })
    expect((await s.ok('GET', '/tables/items/rows')).items).toMatchObject([
      { total: 5, big: false },
      { total: 18, big: true },
      { total: null, big: null },
    ])
    await s.ok('PATCH', '/tables/items/rows/1', { n: 10 })
    expect(await s.ok('GET', '/tables/items/rows/1')).toMatchObject({ total: 25, big: true, $since: 3 })
    expect(await s.call('PATCH', '/tables/items/rows/1', { total: 1 })).toMatchObject({
      status: 422,
      body: { pointer: '/total' },
    })
    await s.ok('PATCH', '/tables/items', { rename: { n: 'count' } })
    await s.ok('PATCH', '/tables/items/rows/1', { count: 4 })
    expect(await s.ok('GET', '/tables/items/rows/1')).toMatchObject({ total: 10 })
  })

  it('that fails for a row is in error in that cell alone', async () => {
    const s = await session()
    await s.ok('PUT', '/tables/t', {
      columns: { id: 'int', raw: 'string', n: { type: 'int', computed: "json_extract(raw, '$.n')" } },
      key: 'id',
    })
    await s.ok('POST', '/tables/t/rows', {
      rows: [
        { id: 1, raw: '{"n":4}' },
        { id: 2, raw: '{' },
        { id: 3, raw: '{"n":"x"}' },
      ],
    })
    expect((await s.ok('GET', '/tables/t/rows')).items).toMatchObject([
      { n: 4 },
      {
        n: null,
        $cells: {
          n: { state: 'error', error: { type: 'expression', message: expect.stringContaining('JSON') } },
        },
      },
      { n: null, $cells: { n: { state: 'error', error: { type: 'type' } } } },
    ])
  })

  it.each([
    'random()',
    'price; DROP TABLE entries',
    '(SELECT 1)',
    'price + ?',
    'nope + 1',
    'price) FROM (SELECT 1',
    "date('now')",
    'date()',
    'price -- x',
    'sqlite_version()',
    'load_extension(price)',
    '',
    'price price',
    'entries.key',
    'total + 1',
    'zeroblob(99999999)',
    "strftime('%s')",
  ])('%s is no expression', async (computed) => {
    const s = await session()
    const made = await s.call('PUT', '/tables/t', {
      columns: { price: 'float', total: { type: 'float', computed } },
    })
    expect(made).toMatchObject({ status: 422, body: { code: 'invalid' } })
  })
})
