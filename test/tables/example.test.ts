import { env, exports } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { live } from '../../examples/collector/day.ts'
import { afternoon, morning } from '../../examples/collector/finds.ts'
import { Lares, rowsOf } from '../../src/client/index.ts'

const lares = new Lares({
  url: 'https://lares.test',
  token: env.LARES_ROOT_KEY,
  fetch: (input, init) => exports.default.fetch(new Request(input, init)),
})

describe('the SDK', () => {
  it('lives a day of a collector, and answers as of noon', async () => {
    const session = await lares.sessions.create('collector')
    const evening = await live(session, morning, afternoon)
    expect(evening.byNoon).toEqual([
      { place: 'beach', words: 3, path: 'finds/1.png', seen: 'a round stone' },
      { place: 'harbour', words: 4, path: 'finds/2.png', seen: 'rope with three knots' },
    ])
    expect(evening.byEvening).toBe(3)
    expect(evening.cameOfFirst).toEqual(['row:finds/1'])
    expect(await session.at(evening.noon).table('finds').get('1')).toMatchObject({
      note: 'a round stone',
      words: 3,
    })
    expect(await session.table('finds').get('1')).toMatchObject({ words: 7 })
  })

  it('reads and writes rows, pages through them, and asks at any version', async () => {
    const session = await lares.sessions.create('rows')
    await session.tables.define('t', { columns: { id: 'int', n: 'float' }, key: 'id' })
    const t = session.table('t')
    const rows = Array.from({ length: 25 }, (_, id) => ({ id, n: id / 2 }))
    expect(await t.insert(rows)).toMatchObject({ version: 2, count: 25 })
    expect((await t.insert([{ id: 1 }], { on_conflict: 'ignore' })).count).toBe(0)
    expect((await t.update({ n: { $gte: 12 } }, { n: null })).keys).toEqual(['24'])
    await t.patch('3', { n: 100 }, { if: { version: 2 } })
    await expect(t.patch('3', { n: 1 }, { if: { version: 2 } })).rejects.toMatchObject({
      code: 'condition_failed',
    })
    expect((await t.delete({ id: { $in: [5, 6] } })).count).toBe(2)
    const found = await t.find<{ id: number }>({ where: { n: { $gt: 1 } }, order: '-n', limit: 4 }).all()
    expect(found).toHaveLength(19)
    expect(found[0]?.id).toBe(3)
    expect(
      await session
        .at(2)
        .table('t')
        .find({ where: { id: 3 } })
        .all(),
    ).toMatchObject([{ n: 1.5 }])
    await session.views.define('big', 'SELECT id FROM t WHERE n > 10')
    expect(rowsOf(await session.query('SELECT * FROM big ORDER BY id', { limit: 1 }))).toEqual([{ id: 3 }])
    expect(await session.views.list().all()).toMatchObject([{ view: 'big' }])
    await session.tables.alter('t', { rename: { n: 'm' } })
    expect((await session.tables.get('t')).columns).toMatchObject({ m: { type: 'float' } })
    await expect(session.query('SELECT n FROM t')).rejects.toMatchObject({ code: 'sql_error' })
    await session.commit((tx) => {
      tx.tables.update('t', '3', { m: 0 })
      tx.tables.delete('t', { m: 0 })
      tx.tables.drop('nothing')
    })
    await session.tables.drop('t')
    expect(await session.tables.list().all()).toEqual([])
  })
})
