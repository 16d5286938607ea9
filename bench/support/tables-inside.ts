// What is measured of tables has to be measured inside the object, where the same work on a plain table can stand beside it.

import type { Canonical } from '../../src/protocol/canonical.ts'
import { commit } from '../../src/session/commit.ts'
import { runQuery } from '../../src/session/query/run.ts'
import type { World } from '../../src/session/world.ts'

export interface TablesMeasured {
  /** Rows a second, one figure a commit of 10,000. */
  inserts: number[]
  /** Milliseconds of one query, in rounds. */
  plain: number[]
  head: number[]
  old: number[]
}

const rowsPerCommit = 10_000

export function measureTables(world: World, rows: number, rounds: number): TablesMeasured {
  const caller = { actor: 'bench' }
  const columns = { id: 'int', name: 'string', n: 'int', cost: 'float' } as const
  const specs = Object.fromEntries(Object.entries(columns).map(([name, type]) => [name, { type }]))
  need(commit(world, caller, { ops: [{ op: 'table.define', table: 'items', columns: specs, key: 'id' }] }))
  const inserts: number[] = []
  for (let first = 0; first < rows; first += rowsPerCommit) {
    const some = Array.from({ length: rowsPerCommit }, (_, i) => rowOf(first + i))
    // Keys stand in canonical order.
    const text = JSON.stringify(some) as Canonical
    const start = performance.now()
    need(
      commit(world, caller, {
        ops: [{ op: 'row.insert', table: 'items', rows: text, on_conflict: 'error' }],
      }),
    )
    inserts.push((rowsPerCommit / (performance.now() - start)) * 1000)
  }
  const { version } = world.head
  world.sql.exec(
    'CREATE TABLE plain (id INTEGER PRIMARY KEY, name TEXT NOT NULL, n INTEGER NOT NULL, cost REAL NOT NULL) STRICT',
  )
  world.sql.exec(`INSERT INTO plain SELECT value ->> '$.id', value ->> '$.name', value ->> '$.n', value ->> '$.cost'
    FROM entries WHERE kind = 'row'`)
  const set = { op: 'row.update', table: 'items', set: '{"cost":1}', where: '{"n":{"$lt":1000}}' } as const
  // Both texts are canonical as they stand.
  need(commit(world, caller, { ops: [set as typeof set & { set: Canonical; where: Canonical }] }))
  const question = (table: string) => `SELECT sum(cost) FROM ${table} WHERE n > 500`
  const ask = (at: { version: number } | null) => () =>
    need(runQuery(world, { sql: question('items'), params: null, at, limit: 10 }))
  const timed = { plain: [] as number[], head: [] as number[], old: [] as number[] }
  for (let round = -2; round < rounds; round++) {
    const measured = {
      plain: time(() => world.sql.exec(question('plain')).toArray()),
      head: time(ask(null)),
      old: time(ask({ version })),
    }
    // The first rounds warm it up.
    if (round >= 0) for (const what of ['plain', 'head', 'old'] as const) timed[what].push(measured[what])
  }
  return { inserts, ...timed }
}

function rowOf(i: number) {
  return { cost: ((i * 7919) % 1000) / 10, id: i, n: ((i * 31) % 1000) + (i % 7) * 1000, name: `item ${i}` }
}

function time(act: () => unknown): number {
  const start = performance.now()
  act()
  return performance.now() - start
}

function need(outcome: { ok: boolean }): void {
  if (!outcome.ok) throw new Error(JSON.stringify(outcome))
}
