import { describe, expect, it } from 'vitest'
import type { Api } from '../tables/api.ts'
import { world } from './world.ts'

const ask = async (s: Api, sql: string, params?: unknown[], more: object = {}) =>
  s.ok('POST', '/query', { sql, ...(params ? { params } : {}), ...more })

describe('one statement over the world', () => {
  it('joins log, table and files', async () => {
    const s = await world()
    const answer = await ask(
      s,
      `SELECT n.title, f.path, l.type, json_extract(l.payload, '$.text') AS text FROM notes n JOIN files f ON f.blob = n.pic ->> '$.blob'
       JOIN lineage i ON i.output = 'row:notes/' || n.row_key JOIN log l ON 'log:' || l.seq = i.input WHERE n.cost < ?`,
      [5],
    )
    expect(answer).toEqual({
      columns: ['title', 'path', 'type', 'text'],
      rows: [['a', 'a.png', 'note', 'one']],
      more: false,
      version: 3,
    })
  })

  it('speaks of any version', async () => {
    const s = await world()
    const sum = 'SELECT sum(cost) AS s FROM notes'
    expect((await ask(s, sum)).rows).toEqual([[11.5]])
    expect((await ask(s, sum, [], { at: 2 })).rows).toEqual([[3.5]])
    expect((await ask(s, sum, [], { at: 1 })).rows).toEqual([[null]])
    expect((await s.call('POST', '/query', { sql: sum, at: 0 })).body).toMatchObject({ code: 'sql_error' })
    expect((await s.call('POST', '/query', { sql: sum, at: 99 })).status).toBe(404)
    expect((await ask(s, 'SELECT count(*) FROM log', [], { at: 1 })).rows).toEqual([[0]])
  })

  it('shows every version of every entry in history, and every commit', async () => {
    const s = await world()
    const rows = (
      await ask(
        s,
        "SELECT since, until, value ->> '$.cost' FROM history WHERE ref = 'row:notes/2' ORDER BY since",
      )
    ).rows
    expect(rows).toEqual([
      [2, 3, 2],
      [3, null, 10],
    ])
    expect((await ask(s, 'SELECT version, actor IS NOT NULL, length(digest) FROM commits')).rows).toEqual([
      [1, 1, 64],
      [2, 1, 64],
      [3, 1, 64],
    ])
    const at2 = (await ask(s, "SELECT since, until FROM history WHERE ref = 'row:notes/2'", [], { at: 2 }))
      .rows
    expect(at2).toEqual([[2, null]])
  })

  it('keeps columns of one name apart, whole numbers exact, and says when there is more', async () => {
    const s = await world()
    expect(
      await ask(
        s,
        "SELECT 1 AS a, 2 AS a, 9007199254740993 AS big, 9007199254740991 AS most, NULL, x'0102' AS b, 1.5",
      ),
    ).toMatchObject({
      columns: ['a', 'a', 'big', 'most', 'NULL', 'b', '1.5'],
      rows: [[1, 2, '9007199254740993', 9007199254740991, null, 'AQI=', 1.5]],
    })
    expect(await ask(s, 'SELECT id FROM notes ORDER BY id DESC', [], { limit: 1 })).toMatchObject({
      rows: [[2]],
      more: true,
    })
    expect(await ask(s, 'SELECT id FROM notes ORDER BY id DESC', [], { limit: 2 })).toMatchObject({
      rows: [[2], [1]],
      more: false,
    })
    expect(await ask(s, 'VALUES (1, 2), (3, 4);')).toMatchObject({
      rows: [
        [1, 2],
        [3, 4],
      ],
    })
  })

  it('binds parameters of every JSON type', async () => {
    const s = await world()
    const { rows } = await ask(s, 'SELECT ?, ?, ?, ?, (SELECT count(*) FROM json_each(?))', [
      "'; --",
      1.5,
      null,
      true,
      [1, 2, 3],
    ])
    expect(rows).toEqual([["'; --", 1.5, null, 1, 3]])
    const many = Array.from({ length: 5000 }, (_, i) => i)
    expect(
      (await ask(s, 'SELECT id FROM notes WHERE id IN (SELECT value FROM json_each(?))', [many])).rows,
    ).toEqual([[1], [2]])
    expect(await s.call('POST', '/query', { sql: 'SELECT ?', params: [] })).toMatchObject({
      status: 422,
      body: { code: 'sql_error', pointer: '/params' },
    })
  })

  it('reads elements of arrays, and recursive queries that say their limit', async () => {
    const s = await world()
    expect((await ask(s, 'SELECT n.id, t.value FROM notes n, json_each(n.tags) t ORDER BY 2')).rows).toEqual([
      [1, 'x'],
      [1, 'y'],
    ])
    expect(
      (
        await ask(
          s,
          'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 5) SELECT sum(n) FROM c',
        )
      ).rows,
    ).toEqual([[15]])
  })

  it('knows views, and views of views, at every version', async () => {
    const s = await world()
    expect(
      (await s.call('PUT', '/views/cheap', { sql: 'SELECT id, title FROM notes WHERE cost < 5' })).status,
    ).toBe(201)
    await s.ok('PUT', '/views/cheaper', { sql: 'SELECT title FROM cheap -- the end' })
    expect((await ask(s, 'SELECT * FROM cheaper')).rows).toEqual([['a']])
    expect((await ask(s, 'SELECT c.title, n.cost FROM "cheaper" c JOIN notes n USING (title)')).rows).toEqual(
      [['a', 1.5]],
    )
    expect((await s.call('POST', '/query', { sql: 'SELECT * FROM cheap', at: 3 })).status).toBe(422)
    await s.ok('DELETE', '/views/cheap')
    expect(await s.call('POST', '/query', { sql: 'SELECT * FROM cheaper' })).toMatchObject({
      status: 422,
      body: { code: 'sql_error' },
    })
    expect((await s.ok('GET', '/views')).items).toMatchObject([{ view: 'cheaper' }])
    expect(await s.ok('GET', '/views/cheap?at=5')).toMatchObject({
      view: 'cheap',
      sql: 'SELECT id, title FROM notes WHERE cost < 5',
    })
    expect((await s.call('DELETE', '/views/cheap')).status).toBe(404)
  })

  it.each([
    'SELECT 1; SELECT 2',
    'DELETE FROM notes',
    'SELECT ?',
    'SELECT * FROM nope',
    'SELECT 1 AS a, 2 AS A',
    'SELECT * FROM v',
  ])('refuses %s as a view', async (sql) => {
    const s = await world()
    expect(await s.call('PUT', '/views/v', { sql })).toMatchObject({
      status: 422,
      body: { code: 'sql_error', pointer: '/sql' },
    })
  })

  it.each([
    ['SELECT done FROM notes ORDER BY id', [[true], [false]]],
    ['SELECT * FROM (SELECT done FROM notes ORDER BY id)', [[1], [0]]],
    [
      'SELECT n.done AS d, n.done + 1, title FROM notes AS n ORDER BY n.id',
      [
        [true, 2, 'a'],
        [false, 1, 'b'],
      ],
    ],
    ['SELECT DISTINCT id, "done" x FROM notes WHERE done = TRUE', [[1, true]]],
    [
      'SELECT count(*), done FROM notes GROUP BY done',
      [
        [1, false],
        [1, true],
      ],
    ],
    ['SELECT a.done, b.id done FROM notes a JOIN notes b ON a.id = b.id AND b.id = 1', [[true, 1]]],
    ['SELECT 1 AS done FROM notes', [[1], [1]]],
    ['SELECT active FROM log', [[true]]],
    ['WITH notes AS (SELECT 1 AS done) SELECT done FROM notes', [[1]]],
    ['SELECT done FROM notes UNION SELECT 5 ORDER BY 1', [[0], [1], [5]]],
    [
      'SELECT j.value, done FROM notes, json_each(tags) j',
      [
        ['x', 1],
        ['y', 1],
      ],
    ],
  ])('true and false come out of %s where a bool column is read as it is', async (sql, rows) => {
    expect((await ask(await world(), sql)).rows).toEqual(rows)
  })

  it('a whole row has its bools too', async () => {
    const s = await world()
    const firstFour = async (sql: string) =>
      JSON.parse(JSON.stringify((await ask(s, sql)).rows))[0].slice(0, 4)
    expect(await firstFour('SELECT * FROM notes WHERE id = 1')).toEqual([1, 'a', true, 1.5])
    expect(await firstFour('SELECT n.*, 1 FROM notes n, log WHERE id = 2')).toEqual([2, 'b', false, 10])
  })

  it('describes itself', async () => {
    const s = await world()
    const schema = await s.ok('GET', '/query/schema')
    const names = (schema.relations as unknown as { name: string }[]).map(({ name }) => name)
    expect(names).toEqual(['log', 'state', 'memory', 'files', 'commits', 'history', 'lineage', 'notes'])
    for (const relation of schema.relations as unknown as { name: string; columns: { name: string }[] }[]) {
      const { columns } = await ask(s, `SELECT * FROM ${relation.name}`)
      expect(columns).toEqual(relation.columns.map(({ name }) => name))
    }
  })
})
