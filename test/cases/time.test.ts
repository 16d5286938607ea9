// Cases about versions, merges, garbage and growth, as far as tests by the parts themselves do not name them.

import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { migrate, schemaVersion, storedSchema } from '../../src/session/schema.ts'
import { freshName, TestWorld } from '../support/world.ts'

const stubOf = (world: TestWorld) => env.SESSION.get(env.SESSION.idFromName(`default/${world.name}`))

async function until(done: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 400; i++) {
    if (await done()) return
    await scheduler.wait(25)
  }
  throw new Error('it did not come to pass')
}

/** Everything an object's tables hold, as text. */
function dump(sql: SqlStorage): string {
  const tables = sql
    .exec<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
    )
    .toArray()
  const rows = tables.flatMap(({ name }) =>
    sql
      .exec(`SELECT * FROM "${name}"`)
      .toArray()
      .map((row) => [name, row]),
  )
  return JSON.stringify(rows, (_, value) =>
    value instanceof ArrayBuffer ? Buffer.from(value).toString('latin1') : value,
  )
}

describe('versions', () => {
  it('D10 a merge after both sides changed the table keeps every edit, or names the conflict', async () => {
    const parent = await TestWorld.create()
    await parent.commit({
      op: 'table.define',
      table: 't',
      columns: { id: { type: 'int' }, text: { type: 'string' } },
      key: 'id',
    })
    const rows = Array.from({ length: 10 }, (_, i) => ({ id: i + 1, text: `row ${i + 1}` }))
    await parent.commit({ op: 'row.insert', table: 't', rows })
    const child = new TestWorld((await parent.ok('POST', '/forks', {})).session)
    const columns = { id: { type: 'int' }, text: { type: 'string' } }
    await child.commit(
      { op: 'table.define', table: 't', columns: { ...columns, b: { type: 'int' } }, key: 'id' },
      { op: 'row.update', table: 't', where: { id: 5 }, set: { text: 'edited', b: 7 } },
      { op: 'row.delete', table: 't', where: { id: 9 } },
    )
    await parent.commit({
      op: 'table.define',
      table: 't',
      columns: { ...columns, a: { type: 'int' } },
      key: 'id',
    })
    const refused = await parent.call('POST', '/merge', { from: child.name })
    expect(refused.body.conflicts.map(({ ref }: { ref: string }) => ref)).toEqual(['table:t'])
    expect(
      (await parent.call('POST', '/merge', { from: child.name, choices: { 'table:t': 'theirs' } })).status,
    ).toBe(201)
    const { rows: merged } = await parent.ok('POST', '/query', {
      sql: 'SELECT id, text, b FROM t ORDER BY id',
    })
    expect(merged).toHaveLength(9)
    expect(merged).toContainEqual([5, 'edited', 7])
    expect(merged.map(([id]: [number]) => id)).not.toContain(9)
  })

  it('D11 commits a moment apart are told apart by time, and every list says the same time', async () => {
    const world = await TestWorld.create()
    const first = await world.set('a', 1)
    await scheduler.wait(3)
    const second = await world.commit(
      { op: 'state.set', key: 'a', value: 2 },
      { op: 'log.append', payload: 'x' },
    )
    expect(first.at < second.at).toBe(true)
    expect(await world.ok('GET', `/state/a?at=${first.at}`)).toBe(1)
    expect(await world.ok('GET', `/state/a?at=${second.at}`)).toBe(2)
    expect((await world.all('/commits')).map(({ at }) => at)).toEqual([first.at, second.at])
    expect((await world.all('/log'))[0]?.at).toBe(second.at)
  })
})

describe('what is deleted or has expired', () => {
  async function full(): Promise<TestWorld> {
    const world = await TestWorld.create(freshName('unmistakable'))
    await world.commit(
      { op: 'state.set', key: 'a', value: world.name },
      { op: 'log.append', payload: world.name },
      { op: 'table.define', table: 't', columns: { id: { type: 'string' } }, key: 'id' },
      { op: 'row.insert', table: 't', rows: [{ id: world.name }] },
      { op: 'memory.add', text: world.name },
    )
    await world.putFile('small', world.name)
    await world.putFile('large', world.name.repeat(3000))
    await world.ok('POST', '/snapshots', { name: 's' })
    return world
  }

  /** Where the session's name stands: its object, the catalog, the keys in R2, the ledgers. */
  async function traces(world: TestWorld): Promise<string[]> {
    const found: string[] = []
    const look = (where: string, text: string) => {
      if (text.includes(world.name)) found.push(where)
    }
    await runInDurableObject(stubOf(world), (_, state) => {
      // That there was a session of this name is all that is left to say.
      look(
        'object',
        dump(state.storage.sql)
          .replaceAll(`"session\\":\\"${world.name}\\"`, '')
          .replaceAll(`\\"session\\":\\"${world.name}\\"`, ''),
      )
    })
    const tables = await env.CATALOG.prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
    ).all<{ name: string }>()
    for (const { name } of tables.results)
      look(`D1 ${name}`, JSON.stringify((await env.CATALOG.prepare(`SELECT * FROM "${name}"`).all()).results))
    for (let cursor: string | undefined; ; ) {
      const list: R2Objects = await env.BLOBS.list(cursor === undefined ? {} : { cursor })
      for (const { key } of list.objects) look(`R2 ${key}`, key)
      if (!list.truncated) break
      cursor = list.cursor
    }
    for (let i = 0; i < 16; i++) {
      const ledger = env.LEDGER.get(env.LEDGER.idFromName(`default/${i}`))
      await ledger.lies('none', 'none')
      await runInDurableObject(ledger, (_, state) => look(`ledger ${i}`, dump(state.storage.sql)))
    }
    return found
  }

  it('G5 a deleted session leaves its name nowhere but on its own tombstone', async () => {
    const world = await full()
    await world.ok('POST', '/lease', { holder: 'h', ttl: 60 })
    await until(async () => !(await runDurableObjectAlarm(stubOf(world))))
    expect(await traces(world)).not.toEqual([])
    expect((await world.call('DELETE', '')).status).toBe(204)
    await until(async () => !(await runDurableObjectAlarm(stubOf(world))))
    expect(await traces(world)).toEqual([])
    expect((await world.call('DELETE', '')).status).toBe(204)
  })

  it('G8 an expired session is gone as a whole: no part is served, none is left', async () => {
    const world = await full()
    await world.ok('PATCH', '', { expires_in: 1 })
    await scheduler.wait(1100)
    for (const path of ['', '/log', '/state/a', '/files/small', '/memories', '/snapshots', '/tables/t']) {
      expect((await world.call('GET', path)).status, path).toBe(410)
    }
    await until(
      async () => !(await runDurableObjectAlarm(stubOf(world))) && (await traces(world)).length === 0,
    )
  })
})

describe('growth and change', () => {
  it('K1 appends of a kilobyte cost less than twice their size', async () => {
    const world = await TestWorld.create()
    const appends = 2000
    const text = 'x'.repeat(1000)
    for (let i = 0; i < appends; i++)
      await stubOf(world).commit(
        { actor: 'a' },
        {
          ops: [{ op: 'log.append', type: 'message', lane: 'main', payload: JSON.stringify(text) as never }],
        },
      )
    await runInDurableObject(stubOf(world), (_, state) => {
      expect(state.storage.sql.databaseSize).toBeLessThan(2 * appends * 1000)
    })
  })

  it('K5 a change of schema that breaks off leaves the old one whole, and goes through the next time', async () => {
    const stub = env.SESSION.get(env.SESSION.newUniqueId())
    await runInDurableObject(stub, (_, { storage }) => {
      let statements = 0
      const failing = {
        transactionSync: <T>(act: () => T) => storage.transactionSync(act),
        sql: {
          exec: (...args: Parameters<SqlStorage['exec']>) => {
            if (++statements === 2) throw new Error('killed')
            return storage.sql.exec(...args)
          },
        },
      }
      // Only these two members are used; one of them fails half-way.
      expect(() => migrate(failing as unknown as DurableObjectStorage, 0)).toThrow('killed')
      expect(storedSchema(storage.sql)).toBe(0)
      migrate(storage, 0)
      expect(storedSchema(storage.sql)).toBe(schemaVersion)
      expect(() => migrate(storage, schemaVersion + 1)).toThrow('newer')
    })
  })

  it('H4 hundreds of ids and columns travel as well as a few', async () => {
    const world = await TestWorld.create()
    const columns = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`c${i}`, { type: 'int' }]))
    await world.commit({
      op: 'table.define',
      table: 't',
      columns: { id: { type: 'int' }, ...columns },
      key: 'id',
    })
    const rows = Array.from({ length: 300 }, (_, id) => ({
      id,
      ...Object.fromEntries(Object.keys(columns).map((name, i) => [name, i * id])),
    }))
    await world.commit({ op: 'row.insert', table: 't', rows })
    for (const many of [101, 5000]) {
      const ids = Array.from({ length: many }, (_, i) => i)
      const { items } = await world.ok('POST', '/tables/t/query', {
        where: { id: { $in: ids } },
        limit: 1000,
      })
      expect(items).toHaveLength(Math.min(many, 300))
    }
  })
})
