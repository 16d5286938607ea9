// Tables through time against plain data: random histories of rows and of columns, reverts and forks; every version must
// read as it was, by lists and by SQL alike.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Api, session } from './api.ts'

/** What a version holds: the columns beside the key, and rows by key. */
interface Moment {
  columns: string[]
  rows: Map<number, Record<string, number | null>>
}

const id = fc.nat({ max: 5 })
const n = fc.integer({ min: -2, max: 2 })
const name = fc.constantFrom('a', 'b', 'c')
const part = fc.double({ min: 0, max: 1, noNaN: true })
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('insert' as const),
      ids: fc.uniqueArray(id, { minLength: 1, maxLength: 4 }),
      n,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('update' as const), least: n, n }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), least: n }) },
  fc.record({ do: fc.constant('add' as const), name, fill: fc.option(n) }),
  fc.record({ do: fc.constant('rename' as const), name, to: name }),
  fc.record({ do: fc.constant('drop' as const), name }),
  fc.record({ do: fc.constant('revert' as const), part }),
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

function apply(history: Moment[], what: Step): Moment | null {
  const { columns, rows }: Moment = history.at(-1) ?? { columns: [], rows: new Map() }
  const next: Moment = {
    columns: [...columns],
    rows: new Map([...rows].map(([key, row]) => [key, { ...row }])),
  }
  const first = columns[0]
  switch (what.do) {
    case 'insert':
      for (const key of what.ids)
        next.rows.set(key, Object.fromEntries(columns.map((column, i) => [column, i === 0 ? what.n : null])))
      return next
    case 'update':
    case 'delete': {
      if (first === undefined) return null
      for (const [key, row] of next.rows) {
        if ((row[first] ?? -100) < what.least) continue
        if (what.do === 'delete') next.rows.delete(key)
        else row[first] = what.n
      }
      return next
    }
    case 'add':
      if (columns.includes(what.name)) return null
      next.columns.push(what.name)
      for (const row of next.rows.values()) row[what.name] = what.fill
      return next
    case 'rename':
      if (!columns.includes(what.name) || columns.includes(what.to)) return null
      next.columns = columns.map((column) => (column === what.name ? what.to : column))
      for (const [key, row] of rows)
        next.rows.set(
          key,
          Object.fromEntries(Object.entries(row).map(([c, v]) => [c === what.name ? what.to : c, v])),
        )
      return next
    case 'drop':
      if (!columns.includes(what.name)) return null
      next.columns = columns.filter((column) => column !== what.name)
      for (const row of next.rows.values()) delete row[what.name]
      return next
    case 'revert':
      return history[Math.floor(what.part * (history.length - 1))] ?? null
  }
}

async function send(s: Api, before: Moment, history: readonly Moment[], what: Step): Promise<void> {
  const first = before.columns[0] ?? 'none'
  const table = '/tables/t'
  switch (what.do) {
    case 'insert': {
      // A column's default is for rows that were there; these say null.
      const rows = what.ids.map((key) => ({
        id: key,
        ...Object.fromEntries(before.columns.map((column, i) => [column, i === 0 ? what.n : null])),
      }))
      return void (await s.ok('POST', `${table}/rows`, { rows, on_conflict: 'replace' }))
    }
    case 'update':
      return void (await s.ok('POST', `${table}/update`, {
        where: { [first]: { $gte: what.least } },
        set: { [first]: what.n },
      }))
    case 'delete':
      return void (await s.ok('POST', `${table}/delete`, { where: { [first]: { $gte: what.least } } }))
    case 'add':
      return void (await s.ok('PATCH', table, {
        add: { [what.name]: what.fill === null ? 'int' : { type: 'int', default: what.fill } },
      }))
    case 'rename':
      return void (await s.ok('PATCH', table, { rename: { [what.name]: what.to } }))
    case 'drop':
      return void (await s.ok('PATCH', table, { drop: [what.name] }))
    case 'revert':
      // The first version made the table: the model's history begins there.
      return void (await s.ok('POST', '/revert', { to: Math.floor(what.part * (history.length - 1)) + 1 }))
  }
}

const bare = (rows: unknown) =>
  (rows as Record<string, unknown>[]).map(({ $key: _k, $since: _s, ...row }) => row)

it('every version of a table reads as it was', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
      const s = await session()
      await s.ok('PUT', '/tables/t', { columns: { id: 'int', a: { type: 'int', index: true } }, key: 'id' })
      const history: Moment[] = [{ columns: ['a'], rows: new Map() }]
      for (const what of steps) {
        const next = apply(history, what)
        if (next === null) continue
        await send(s, history.at(-1) ?? next, history, what)
        history.push(next)
      }
      for (const [i, { columns, rows }] of history.entries()) {
        const at = i + 1
        const wanted = [...rows].sort(([a], [b]) => a - b).map(([key, row]) => ({ id: key, ...row }))
        expect(bare((await s.ok('GET', `/tables/t/rows?at=${at}`)).items)).toEqual(wanted)
        const list = ['id', ...columns].join(', ')
        const answer = await s.ok('POST', '/query', { sql: `SELECT ${list} FROM t ORDER BY id`, at })
        expect(answer.rows).toEqual(wanted.map((row) => ['id', ...columns].map((c) => Reflect.get(row, c))))
      }
    }),
    { numRuns: 40 },
  )
})
