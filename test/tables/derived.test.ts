import { runDurableObjectAlarm } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { staticModel } from '../../src/embed/static.ts'
import { addressProblem } from '../../src/session/tables/functions.ts'
import { type Api, session } from './api.ts'

const table = {
  columns: {
    id: 'int',
    title: 'string',
    note: 'string',
    length: { type: 'int', computed: { endpoint: 'https://fn.example.com/length', inputs: ['title'] } },
  },
  key: 'id',
}

/** Stands in for the user's own endpoint; the rest of the network is not there. */
function endpoint(answer: (row: Record<string, unknown>) => Response | Promise<Response>) {
  const asked: unknown[] = []
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (_url, init) => {
    const body = JSON.parse(String(init?.body))
    asked.push(body)
    return answer(body.row)
  })
  return asked
}

afterEach(() => vi.restoreAllMocks())

const value = (v: unknown) => Response.json({ value: v })

/** Lets the session work until a row is as wanted. */
async function settled(s: Api, path: string, done: (row: Record<string, unknown>) => boolean) {
  const stub = env.SESSION.get(env.SESSION.idFromName(`default/${s.id}`))
  for (let i = 0; i < 200; i++) {
    const row = await s.ok('GET', path)
    if (done(row)) return row
    await runDurableObjectAlarm(stub)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`never settled: ${JSON.stringify(await s.ok('GET', path))}`)
}

const hasNoNote = (row: Record<string, unknown>) => row.$cells === undefined

describe('a column derived by an endpoint', () => {
  it('is pending in the commit, and there after it, with the row as its input', async () => {
    const asked = endpoint((row) => value(String(row.title).length))
    const s = await session()
    await s.ok('PUT', '/tables/t', table)
    await s.ok('POST', '/tables/t/rows', { rows: [{ id: 1, title: 'four', note: 'n' }, { id: 2 }] })
    expect(await s.ok('GET', '/tables/t/rows/1')).toMatchObject({
      length: null,
      $cells: { length: { state: 'pending' } },
    })
    expect(await settled(s, '/tables/t/rows/1', hasNoNote)).toMatchObject({ length: 4, title: 'four' })
    expect(asked).toEqual([{ session: s.id, table: 't', key: '1', column: 'length', row: { title: 'four' } }])
    expect(await s.ok('GET', '/tables/t/rows/2')).toMatchObject({ length: null })
    expect(await s.ok('GET', '/lineage?of=row:t/1')).toMatchObject({
      edges: [{ from: 'row:t/1', from_version: 2, to: 'row:t/1', version: 3 }],
    })
    expect(await s.ok('GET', '/commits/3')).toMatchObject({ actor: 'lares:computed' })
  })

  it('is computed again when an input changes, and not when another column does', async () => {
    const asked = endpoint((row) => value(String(row.title).length))
    const s = await session()
    await s.ok('PUT', '/tables/t', table)
    await s.ok('POST', '/tables/t/rows', { rows: [{ id: 1, title: 'four' }] })
    await settled(s, '/tables/t/rows/1', hasNoNote)
    await s.ok('PATCH', '/tables/t/rows/1', { note: 'x' })
    expect(await s.ok('GET', '/tables/t/rows/1')).toMatchObject({ length: 4 })
    await s.ok('PATCH', '/tables/t/rows/1', { title: 'seven..' })
    expect(await settled(s, '/tables/t/rows/1', hasNoNote)).toMatchObject({ length: 7 })
    expect(asked).toHaveLength(2)
  })

  it('whose function is slow does not hold up writes, and a result for a row that has changed is not written', async () => {
    let release = () => {}
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    endpoint(async (row) => {
      if (row.title === 'old') await gate
      return value(String(row.title).length)
    })
    const s = await session()
    await s.ok('PUT', '/tables/t', table)
    await s.ok('POST', '/tables/t/rows', { rows: [{ id: 1, title: 'old' }] })
    await runDurableObjectAlarm(env.SESSION.get(env.SESSION.idFromName(`default/${s.id}`)))
    await s.ok('PATCH', '/tables/t/rows/1', { title: 'newer' })
    release()
    expect(await settled(s, '/tables/t/rows/1', hasNoNote)).toMatchObject({ title: 'newer', length: 5 })
    const history = await s.ok('POST', '/query', {
      sql: "SELECT value ->> '$.length' FROM history WHERE ref = 'row:t/1' ORDER BY since",
    })
    expect((history.rows as unknown as unknown[][]).flat()).toEqual([null, null, 5])
  })

  it('that fails for good is in error with type and message, and can be asked again', async () => {
    endpoint(() => new Response('no', { status: 400 }))
    const s = await session()
    await s.ok('PUT', '/tables/t', table)
    await s.ok('POST', '/tables/t/rows', {
      rows: [
        { id: 1, title: 'a' },
        { id: 2, title: 'bb' },
      ],
    })
    const failed = (row: Record<string, unknown>) => JSON.stringify(row.$cells ?? {}).includes('error')
    expect(await settled(s, '/tables/t/rows/1', failed)).toMatchObject({
      $cells: {
        length: { state: 'error', error: { type: 'http', message: expect.stringContaining('400') } },
      },
    })
    endpoint((row) => value(String(row.title).length))
    expect(await s.ok('POST', '/tables/t/recompute', { column: 'length', only: 'failed' })).toMatchObject({
      count: 2,
    })
    expect(await settled(s, '/tables/t/rows/2', hasNoNote)).toMatchObject({ length: 2 })
    expect(await s.ok('POST', '/tables/t/recompute', { column: 'length', only: 'failed' })).toMatchObject({
      count: 0,
    })
  })

  it('an answer of another type is an error of the cell', async () => {
    endpoint(() => value('four'))
    const s = await session()
    await s.ok('PUT', '/tables/t', table)
    await s.ok('POST', '/tables/t/rows', { rows: [{ id: 1, title: 'a' }] })
    expect(
      await settled(s, '/tables/t/rows/1', (row) => JSON.stringify(row.$cells).includes('error')),
    ).toMatchObject({
      $cells: { length: { state: 'error', error: { type: 'type' } } },
    })
  })

  it('a changed expression leaves stale cells that are made again, and a new column fills itself', async () => {
    const s = await session()
    await s.ok('PUT', '/tables/t', {
      columns: { id: 'int', n: 'int', m: { type: 'int', computed: 'n * 2' } },
      key: 'id',
    })
    await s.ok('POST', '/tables/t/rows', { rows: [{ id: 1, n: 5 }] })
    await s.ok('PATCH', '/tables/t', {
      change: { m: { type: 'int', computed: 'n * 3' } },
      add: { sq: { type: 'int', computed: 'n * n' } },
    })
    expect(await s.ok('GET', '/tables/t/rows/1')).toMatchObject({
      m: 10,
      sq: null,
      $cells: { m: { state: 'stale' }, sq: { state: 'pending' } },
    })
    expect(await settled(s, '/tables/t/rows/1', hasNoNote)).toMatchObject({ m: 15, sq: 25 })
  })

  it('a leased session gets its computed cells too', async () => {
    endpoint((row) => value(String(row.title).length))
    const s = await session()
    await s.ok('PUT', '/tables/t', table)
    await s.ok('POST', '/tables/t/rows', { rows: [{ id: 1, title: 'four' }] })
    await s.ok('POST', '/lease', { holder: 'h', ttl: 600 })
    expect(await settled(s, '/tables/t/rows/1', hasNoNote)).toMatchObject({ length: 4 })
  })
})

describe('an endpoint', () => {
  it.each([
    'http://fn.example.com/',
    'https://localhost/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://[::1]/',
    'https://10.0.0.1/',
    'https://a:b@fn.example.com/',
    'https://fn.example.com:8443/',
    'https://metadata.google.internal/',
    'https://host/',
    'https://printer.local/',
    'https://127.0.0.1./',
    'ftp://x.com',
    'x',
  ])('at %s is not called', (address) => {
    expect(addressProblem(address)).not.toBeNull()
  })

  it('at a public host is', () => {
    expect(addressProblem('https://fn.example.com/a?b=c')).toBeNull()
  })
})

describe('a column of embeddings', () => {
  it('is filled after the commit, and refused where its length is not that of the model', async () => {
    const s = await session()
    const columns = (length: number) => ({
      columns: { id: 'int', title: 'string', v: { type: `vector(${length})`, computed: { embed: 'title' } } },
      key: 'id',
    })
    expect(await s.call('PUT', '/tables/t', columns(3))).toMatchObject({
      status: 422,
      body: { pointer: '/columns/v/computed' },
    })
    await s.ok('PUT', '/tables/t', columns(staticModel.dims))
    await s.ok('POST', '/tables/t/rows', { rows: [{ id: 1, title: 'a round stone' }] })
    const row = await settled(s, '/tables/t/rows/1', hasNoNote)
    expect(row.v).toHaveLength(staticModel.dims)
  })
})
