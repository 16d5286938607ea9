// A read that stops early must leave nothing open behind it: SQLite drops no table and no index while a statement is half-way.

import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, it } from 'vitest'
import { TestWorld } from '../support/world.ts'

async function populated(): Promise<TestWorld> {
  const world = await TestWorld.create()
  await world.ok('PUT', '/tables/t', { columns: { a: { type: 'int', index: true }, b: 'int' } })
  const rows = Array.from({ length: 250 }, (_, a) => ({ a, b: a }))
  await world.ok('POST', '/tables/t/rows', { rows })
  await world.commit(...Array.from({ length: 250 }, (_, i) => ({ op: 'state.set', key: `k${i}`, value: i })))
  await world.commit(
    ...Array.from({ length: 250 }, (_, i) => ({ op: 'log.append', payload: i, key: `e${i}` })),
  )
  await world.commit(...Array.from({ length: 5 }, (_, i) => ({ op: 'memory.add', text: `memory ${i}` })))
  for (const path of ['a/1', 'a/2', 'b/1']) await world.putFile(path, path)
  return world
}

const reads = [
  '/state?limit=3',
  '/state?limit=3&at=3',
  '/log?limit=2',
  '/log?limit=2&order=desc',
  '/log/pending?limit=1',
  '/commits?limit=1',
  '/commits/3',
  '/tables?limit=1',
  '/tables/t/rows?limit=2',
  '/diff?from=1&limit=1',
  '/files?delimiter=/&limit=1',
  '/files?format=tar',
  '/memories?limit=2',
  '/verify',
  '/export?journal=true',
]

it('no read holds up a drop', async () => {
  const world = await populated()
  const stub = env.SESSION.get(env.SESSION.idFromName(`default/${world.name}`))
  const free = () =>
    runInDurableObject(stub, (_, { storage: { sql } }) => {
      sql.exec('CREATE TABLE IF NOT EXISTS probe (a)')
      sql.exec('DROP TABLE probe')
      return true
    }).catch((error: unknown) => String(error))
  for (const path of reads) {
    expect([path, (await world.call('GET', path)).status, await free()]).toEqual([path, 200, true])
  }
  const asks: [path: string, body: object][] = [
    ['/query', { sql: 'SELECT * FROM t', limit: 1 }],
    ['/tables/t/query', { where: { a: { $gt: 3 } }, limit: 1 }],
    ['/recall', { query: 'memory', k: 1 }],
    ['/log', { payload: 1, key: 'another' }],
    ['/snapshots', { name: 's' }],
    ['/forks', {}],
  ]
  for (const [path, body] of asks) {
    expect([path, (await world.call('POST', path, body)).status < 300, await free()]).toEqual([
      path,
      true,
      true,
    ])
  }
  expect((await world.call('PATCH', '/tables/t', { drop: ['a'] })).status).toBe(200)
  expect((await world.call('POST', '/revert', { to: 1 })).status).toBe(201)
})
