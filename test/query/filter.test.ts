import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  canonical,
  compileFilter,
  type Json,
  type Operand,
  parseFilter,
  type Resolve,
} from '../../src/protocol/index.ts'
import { matches } from './oracle.ts'

const document: Resolve = (path): Operand => ({ is: 'json', document: 'doc', path })

/** Runs each filter over each document in one object's SQLite. */
async function ask<T>(act: (select: (filter: unknown, docs: Json[]) => boolean[]) => T): Promise<T> {
  return runInDurableObject(env.SESSION.get(env.SESSION.idFromName('filter')), (_session, { storage }) =>
    act((filter, docs) => {
      const compiled = compileFilter(filter, document)
      if (!compiled.ok) throw new Error(compiled.detail)
      const rows = storage.sql.exec<{ answer: number }>(
        `SELECT ${compiled.sql} AS answer FROM (SELECT jsonb(value) AS doc, key FROM json_each(?2)) ORDER BY key`,
        compiled.param,
        JSON.stringify(docs.map((doc) => canonical(doc))),
      )
      return rows.toArray().map(({ answer }) => {
        expect([0, 1]).toContain(answer)
        return answer === 1
      })
    }),
  )
}

const keys = fc.constantFrom('a', 'b', '0', '1', 'a.b', 'x"y', '\\', '__proto__', '', 'é', '$ref', '[0]')
const scalars = fc.oneof(
  fc.constantFrom<Json>(
    null,
    true,
    false,
    0,
    1,
    -1,
    1.5,
    1e21,
    9007199254740991,
    '',
    '0',
    '1',
    'true',
    'null',
    'a',
    'é',
    '\u{1F680}',
    '\uFFFD',
  ),
  fc.string({ unit: 'binary', maxLength: 3 }).filter((s) => s.isWellFormed()),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const json = fc.letrec<{ any: Json }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    scalars,
    fc.array(tie('any'), { maxLength: 3 }),
    fc.array(fc.tuple(keys, tie('any')), { maxLength: 3 }).map((pairs) => Object.fromEntries(pairs) as Json),
  ),
})).any
const documents = fc
  .array(fc.tuple(keys, json), { maxLength: 4 })
  .map((pairs) => Object.fromEntries(pairs) as Json)

const names = fc.oneof(
  keys.filter((k) => !k.startsWith('$')),
  fc
    .array(keys, { minLength: 1, maxLength: 3 })
    .map((steps) => steps.map((s) => `/${s.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')),
)
const ordered = fc.oneof(fc.constantFrom(0, 1, 1.5, -1), fc.constantFrom('', 'a', 'é', '\u{1F680}', '\uFFFD'))
const tests: fc.Arbitrary<Json> = fc.letrec<{ tests: Json }>((tie) => ({
  tests: fc.oneof(
    { maxDepth: 2 },
    json.filter((v) => !isOperators(v)),
    json.map((v) => ({ $eq: v })),
    json.map((v) => ({ $ne: v })),
    json.map((v) => ({ $contains: v })),
    fc.array(json, { maxLength: 4 }).map((v) => ({ $in: v })),
    fc.array(json, { maxLength: 4 }).map((v) => ({ $nin: v })),
    fc.boolean().map((v) => ({ $exists: v })),
    fc.tuple(fc.constantFrom('$gt', '$gte', '$lt', '$lte'), ordered).map(([op, v]) => ({ [op]: v })),
    fc.tuple(ordered, ordered).map(([a, b]) => ({ $gte: a, $lt: b })),
    tie('tests').map((t) => ({ $not: isOperators(t) ? t : { $eq: t } })),
  ),
})).tests
function isOperators(test: Json): boolean {
  return typeof test === 'object' && test !== null && Object.keys(test).some((key) => key.startsWith('$'))
}

const filters = fc.letrec<{ filter: Json }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3 },
    fc.array(fc.tuple(names, tests), { maxLength: 3 }).map((pairs) => Object.fromEntries(pairs) as Json),
    fc.array(tie('filter'), { maxLength: 3 }).map((of) => ({ $and: of })),
    fc.array(tie('filter'), { maxLength: 3 }).map((of) => ({ $or: of })),
    tie('filter').map((of) => ({ $not: of })),
  ),
})).filter

describe('a filter', () => {
  it('selects in SQL exactly what it means, for any filter and any document', async () => {
    await ask((select) => {
      fc.assert(
        fc.property(filters, fc.array(documents, { minLength: 1, maxLength: 8 }), (filter, docs) => {
          const parsed = parseFilter(filter)
          if (!parsed.ok) throw new Error(parsed.detail)
          expect(select(filter, docs)).toEqual(docs.map((doc) => matches(parsed.filter, doc)))
        }),
        { numRuns: 1000 },
      )
    })
  })

  it('tells apart absent, null, false, zero, the empty text, list and object', async () => {
    const values: Json[] = [null, false, 0, '', [], {}]
    const docs: Json[] = [{}, ...values.map((v) => ({ v }))]
    await ask((select) => {
      for (const [i, value] of values.entries()) {
        expect(select({ v: value }, docs)).toEqual(docs.map((_, j) => j === i + 1))
        expect(select({ v: { $in: [value] } }, docs)).toEqual(docs.map((_, j) => j === i + 1))
      }
      expect(select({ v: { $exists: false } }, docs)).toEqual(docs.map((_, j) => j === 0))
    })
  })

  it('takes thousands of values and hundreds of terms', async () => {
    const many = Array.from({ length: 5000 }, (_, i) => i)
    const docs: Json[] = [{ n: 4999 }, { n: 5000 }, { n: '1' }]
    await ask((select) => {
      expect(select({ n: { $in: many } }, docs)).toEqual([true, false, false])
      expect(select({ $or: many.slice(4600).map((n) => ({ n })) }, docs)).toEqual([true, false, false])
    })
  })

  it.each([
    [[], ''],
    ['x', ''],
    [{ a: { $foo: 1 } }, '/a/$foo'],
    [{ a: { $gt: 1, b: 2 } }, '/a/b'],
    [{ $nor: [] }, '/$nor'],
    [{ $and: {} }, '/$and'],
    [{ $or: [1] }, '/$or/0'],
    [{ a: { $gt: null } }, '/a/$gt'],
    [{ a: { $gt: [1] } }, '/a/$gt'],
    [{ a: { $in: 3 } }, '/a/$in'],
    [{ a: { $exists: 1 } }, '/a/$exists'],
    [{ a: { $not: 3 } }, '/a/$not'],
    [{ '/a/~2': 1 }, '/~1a~1~02'],
    [{ a: 'x\uD800' }, '/a'],
    [{ $and: [{ b: { $eq: { c: ['\uD800'] } } }] }, '/$and/0/b/$eq/c/0'],
  ])('refuses %j and says where', (filter, pointer) => {
    expect(parseFilter(filter)).toMatchObject({ ok: false, code: 'invalid', pointer })
  })

  it('is bounded in depth and in comparisons', () => {
    let deep: Json = { a: 1 }
    for (let i = 0; i < 40; i++) deep = { $not: deep }
    expect(parseFilter(deep)).toMatchObject({ ok: false, code: 'invalid' })
    const wide = { $or: Array.from({ length: 501 }, (_, i) => ({ a: i })) }
    expect(parseFilter(wide)).toMatchObject({ ok: false, code: 'invalid', pointer: '/$or/500/a' })
  })

  it('never answers an unknown name with everything', () => {
    const compiled = compileFilter({ $or: [{ known: 1 }, { nope: 1 }] }, (path) =>
      path[0] === 'known' ? { is: 'scalar', sql: 'known', holds: 'number' } : null,
    )
    expect(compiled).toMatchObject({ ok: false, code: 'invalid', pointer: '/$or/1/nope' })
  })
})
