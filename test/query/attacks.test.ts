import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { session } from '../tables/api.ts'
import { world } from './world.ts'

const attacks = [
  'SELECT 1; DELETE FROM entries',
  'SELECT 1;;; SELECT 2',
  'DELETE FROM entries',
  'DROP TABLE entries',
  'PRAGMA writable_schema = 1',
  "ATTACH 'x' AS y",
  'VACUUM',
  'EXPLAIN SELECT 1',
  'WITH x AS (SELECT 1) DELETE FROM entries',
  'WITH x AS (SELECT 1) INSERT INTO entries SELECT 1',
  'SELECT 1) ; DELETE FROM entries; SELECT (1',
  'SELECT 1) UNION SELECT (1',
  'SELECT 1 /* ',
  "SELECT ' ",
  'SELECT "',
  'SELECT [a',
  'SELECT `a',
  'SELECT 1 -- \n) LIMIT 1; DROP TABLE meta; --',
  'SELECT * FROM entries',
  'SELECT * FROM main.entries',
  'SELECT * FROM "main"."entries"',
  'SELECT * FROM [main] . entries',
  "SELECT * FROM 'entries'",
  'SELECT * FROM meta',
  'SELECT * FROM past JOIN events',
  'SELECT 1 WHERE 1 IN entries',
  'SELECT * FROM sqlite_master',
  'SELECT * FROM sqlite_schema',
  "SELECT * FROM pragma_table_info('entries')",
  'SELECT * FROM _cf_KV',
  'WITH entries AS (SELECT * FROM entries) SELECT * FROM entries',
  'WITH notes AS (SELECT * FROM main.past) SELECT * FROM notes',
  'SELECT * FROM lares_row_notes',
  'SELECT * FROM lares_answer',
  "SELECT load_extension('x')",
  'SELECT zeroblob(1000000000)',
  'SELECT randomblob(1000000000)',
  "SELECT printf('%1000000000d', 1)",
  "SELECT printf('%*d', 1000000000, 1)",
  'SELECT printf(title, 1) FROM notes',
  'SELECT sqlite_version()',
  'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c',
  'WITH c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c',
  'WITH "c"(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM [C]) SELECT count(*) FROM c',
  'WITH c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT -1) SELECT count(*) FROM c',
  'WITH c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 10 + 1e9) SELECT count(*) FROM c',
  'WITH c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 1e18) SELECT count(*) FROM c',
  'WITH c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 9 OFFSET 1000000000000) SELECT count(*) FROM c',
  'WITH c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 100000000000, 9) SELECT count(*) FROM c',
  'SELECT count(*) FROM (WITH c(n) AS NOT MATERIALIZED (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT * FROM c)',
  'SELECT * FROM nope',
  'SELECT nope FROM notes',
  'SELECT a FROM (SELECT 1 a) WHERE',
  'SELECT :x',
  'SELECT ?1',
  'SELECT $x',
  'SELECT 1abc',
  'SELECT \u0000',
]

const big = 'SELECT 1 UNION ALL SELECT n + 1 FROM'
const heavy = [
  `WITH c(n) AS (${big} c LIMIT 90000) SELECT count(*) FROM c a, c "1 CONSTANT ROW", c "q USING INTEGER PRIMARY KEY (rowid=?)"`,
  `WITH c(n) AS (${big} c LIMIT 90000) SELECT count(*) FROM c AS '1 CONSTANT ROW', c b`,
  `WITH x(n) AS (${big} x LIMIT 90000) SELECT count(*) FROM x, x b, (WITH x AS MATERIALIZED (SELECT 1) SELECT * FROM x) c`,
  `WITH x(n) AS (${big} x LIMIT 90000) SELECT count(*) FROM (WITH x AS MATERIALIZED (SELECT 1) SELECT * FROM x) c, x, x b`,
  `WITH b(n) AS (${big} b LIMIT 90000), c(n) AS (SELECT 1 UNION ALL SELECT c.rowid FROM b AS c, c AS d LIMIT 90000) SELECT count(*) FROM c`,
  'WITH c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 100000) SELECT count(*) FROM c a, c b WHERE a.n < b.n',
  `WITH v(x) AS (VALUES ${Array.from({ length: 100 }, (_, i) => `(${i})`).join(',')}) SELECT count(*) FROM v a, v b, v c, v d, v e, v f`,
  `SELECT count(*) FROM ${Array.from({ length: 9 }, (_, i) => `json_each('[${Array.from({ length: 50 }, (_x, j) => j).join(',')}]') j${i}`).join(', ')}`,
  `WITH a AS (SELECT 1 x UNION ALL SELECT 2), b AS (SELECT * FROM a p, a q, a r, a s), c AS (SELECT 1 y FROM b p, b q, b r) SELECT count(*) FROM c p, c q, c r`,
  `WITH c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 50000) SELECT (SELECT count(*) FROM c b WHERE b.n > a.n) FROM c a`,
  `WITH c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 50000) SELECT sum(x) FROM (SELECT (SELECT count(*) FROM c b WHERE b.n > a.n) AS x FROM c a)`,
  `WITH c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c, (WITH d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d LIMIT 100000) SELECT count(*) FROM d) LIMIT 100000) SELECT count(*) FROM c`,
]

describe('hostile SQL', () => {
  it('is refused, changes nothing, and the next question is answered', async () => {
    const s = await world()
    const before = await s.ok('GET', '')
    for (const sql of attacks) {
      const { status, body } = await s.call('POST', '/query', { sql })
      expect({ sql, status, code: body.code }).toEqual({ sql, status: 422, code: 'sql_error' })
      // What it named itself may be named back to it; nothing else of ours is.
      if (!/lares_|sqlite_/i.test(sql)) expect(JSON.stringify(body)).not.toMatch(/SQLITE_|lares_|sqlite_/)
    }
    expect(await s.ok('GET', '')).toEqual(before)
    expect((await s.ok('POST', '/query', { sql: 'SELECT count(*) FROM notes' })).rows).toEqual([[2]])
  })

  it.each(heavy)('that would not end is not begun: %s', async (sql) => {
    const s = await world()
    const { status, body } = await s.call('POST', '/query', { sql })
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'sql_error' })
  })

  it('that asks for giant answers is broken off', async () => {
    const s = await session()
    await s.ok('PUT', '/state/big', JSON.stringify('x'.repeat(200_000)))
    const sql =
      'WITH c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 5000) SELECT s.value FROM c, state s'
    expect(await s.call('POST', '/query', { sql, limit: 10_000 })).toMatchObject({
      status: 422,
      body: { code: 'sql_error' },
    })
    const grown =
      "WITH c(n, x) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, x || x FROM c LIMIT 100) SELECT max(length(x)) FROM c"
    expect(await s.call('POST', '/query', { sql: grown })).toMatchObject({
      status: 422,
      body: { code: 'sql_error' },
    })
    expect((await s.ok('POST', '/query', { sql: 'SELECT 1' })).rows).toEqual([[1]])
  })

  it('texts and comments that look like attacks are only texts and comments', async () => {
    const s = await world()
    const sql = `SELECT '); DROP TABLE entries; --' AS "entries; --", /* ) DELETE */ 'it''s' -- ) ; DROP`
    expect(await s.ok('POST', '/query', { sql })).toMatchObject({
      columns: ['entries; --', "'it''s'"],
      rows: [['); DROP TABLE entries; --', "it's"]],
    })
  })

  it('generated from the pieces of attacks never writes, never breaks the session', async () => {
    const s = await world()
    const before = await s.ok('GET', '')
    const pieces = fc.constantFrom(
      'SELECT',
      'WITH',
      'x',
      'AS',
      '(',
      ')',
      '1',
      "'a'",
      '*',
      'FROM',
      'notes',
      'entries',
      'log',
      'state',
      ';',
      '--',
      '\n',
      '/*',
      '*/',
      ',',
      'UNION',
      'ALL',
      'DELETE',
      'INSERT',
      'INTO',
      'UPDATE',
      'SET',
      'value',
      '=',
      'WHERE',
      'LIMIT',
      'meta',
      '"',
      "'",
      '`',
      '[',
      ']',
      'main',
      '.',
      'sqlite_master',
      'VALUES',
      'RETURNING',
      'REPLACE',
      'DROP',
      'TABLE',
      'id',
      'title',
      'GROUP BY',
      'ORDER BY',
      'count(*)',
      'json_each',
      'RECURSIVE',
      'NOT',
      'IN',
      'EXISTS',
      'CASE',
      'END',
      'JOIN',
      'ON',
      'NULL',
    )
    const statements = fc.array(pieces, { minLength: 1, maxLength: 14 }).map((parts) => parts.join(' '))
    const shaped = fc
      .tuple(
        fc.constantFrom(
          'SELECT * FROM (',
          'SELECT ',
          'WITH x AS (SELECT 1) ',
          'VALUES (',
          'SELECT id FROM notes WHERE ',
        ),
        statements,
        fc.constantFrom('', ')', ' LIMIT 3', ' --', ';'),
      )
      .map((parts) => parts.join(''))
    const run = fc.sample(fc.oneof(statements, shaped, shaped), { numRuns: 10_000, seed: 5 })
    let answered = 0
    for (const sql of run) {
      const { status, body } = await s.call('POST', '/query', { sql })
      if (status === 200) answered++
      else expect({ sql, status, code: body.code }).toEqual({ sql, status: 422, code: 'sql_error' })
    }
    expect(answered).toBeGreaterThan(20)
    expect(await s.ok('GET', '')).toEqual(before)
    expect((await s.ok('GET', '/tables/notes/rows')).items).toHaveLength(2)
  })
})
