import { env, exports } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { type Api, session } from './api.ts'

async function fork(s: Api, at?: number): Promise<Api> {
  const forked = await s.ok('POST', '/forks', at === undefined ? {} : { at })
  const id = String(forked.session)
  const call: Api['call'] = async (method, path, body) => {
    const response = await exports.default.fetch(`http://lares/v1/sessions/${id}${path}`, {
      method,
      headers: { authorization: `Bearer ${env.LARES_ROOT_KEY}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: await response.json(), headers: response.headers }
  }
  return {
    ...s,
    id,
    call,
    async ok(method, path, body) {
      const answer = await call(method, path, body)
      if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
      return answer.body as never
    },
    commit: (...ops) => call('POST', '/commits', { ops }),
  }
}

async function items() {
  const s = await session()
  await s.ok('PUT', '/tables/items', {
    columns: { id: 'int', name: { type: 'string', unique: true }, n: 'int' },
    key: 'id',
  })
  await s.ok('POST', '/tables/items/rows', {
    rows: Array.from({ length: 10 }, (_, id) => ({ id, name: `i${id}`, n: id })),
  })
  return s
}

describe('tables in time', () => {
  it('a fork has rows, indexes and lineage, and keeps unique columns unique', async () => {
    const s = await items()
    await s.commit({ op: 'row.update', table: 'items', key: '1', set: { n: 100 }, from: ['row:items/2@2'] })
    const child = await fork(s)
    expect((await child.ok('GET', '/tables/items/rows')).items).toHaveLength(10)
    expect(await child.call('POST', '/tables/items/rows', { rows: [{ id: 99, name: 'i3' }] })).toMatchObject({
      status: 409,
    })
    expect(await child.ok('GET', '/lineage?of=row:items/2&direction=down')).toMatchObject({
      edges: [{ to: 'row:items/1', version: 3 }],
    })
    expect((await child.ok('POST', '/query', { sql: 'SELECT sum(n) FROM items', at: 2 })).rows).toEqual([
      [45],
    ])
  })

  it('a merge with a changed schema keeps an edit and a deletion of the other side', async () => {
    const s = await items()
    const child = await fork(s)
    await child.ok('POST', '/tables/items/update', { where: { id: 5 }, set: { n: 500 } })
    await child.ok('POST', '/tables/items/delete', { where: { id: 9 } })
    await s.ok('PATCH', '/tables/items', { add: { extra: 'string' } })
    await s.ok('POST', '/tables/items/update', { where: { id: 1 }, set: { extra: 'x' } })
    await s.ok('POST', '/merge', { from: child.id })
    expect(await s.ok('GET', '/tables/items/rows/5')).toMatchObject({ n: 500, extra: null })
    expect((await s.call('GET', '/tables/items/rows/9')).status).toBe(404)
    expect(await s.ok('GET', '/tables/items/rows/1')).toMatchObject({ extra: 'x' })
  })

  it('revert brings rows, columns and their rules back', async () => {
    const s = await items()
    await s.ok('PATCH', '/tables/items', { change: { name: 'string' }, drop: ['n'] })
    await s.ok('POST', '/tables/items/rows', { rows: [{ id: 20, name: 'i3' }] })
    await s.ok('POST', '/revert', { to: 2 })
    expect((await s.ok('POST', '/tables/items/query', { where: { n: { $gte: 8 } } })).items).toMatchObject([
      { id: 8 },
      { id: 9 },
    ])
    expect(await s.call('POST', '/tables/items/rows', { rows: [{ id: 99, name: 'i3' }] })).toMatchObject({
      status: 409,
    })
  })

  it('a snapshot of media rows needs their bytes, and diff shows what changed', async () => {
    const s = await session()
    const blob = await s.blob(new TextEncoder().encode('x'))
    await s.ok('PUT', '/tables/pics', { columns: { n: 'int', pic: 'file' }, key: 'n' })
    await s.ok('POST', '/tables/pics/rows', { rows: [{ n: 1, pic: blob }] })
    await s.ok('POST', '/snapshots', { name: 'a' })
    const { items: objects } = await s.ok('GET', '/snapshots/a/objects')
    expect(JSON.stringify(objects)).toContain(blob)
    await s.ok('DELETE', '/tables/pics/rows/1')
    const diff = await s.ok('GET', '/diff?from=2&to=3')
    expect(diff.items).toMatchObject([{ ref: 'row:pics/1', change: 'removed' }])
  })
})

describe('lineage', () => {
  it('is followed both ways, as of any version', async () => {
    const s = await session()
    await s.commit(
      { op: 'log.append', payload: 'seen' },
      { op: 'state.set', key: 'a', value: 1, from: ['log:1'] },
    )
    await s.commit({ op: 'state.set', key: 'b', value: 2, from: ['state:a@1', 'log:1'] })
    await s.commit({ op: 'state.set', key: 'a', value: 3 })
    const up = await s.ok('GET', '/lineage?of=state:b')
    expect(up.edges).toEqual([
      { from: 'log:1', from_version: null, to: 'state:b', version: 2 },
      { from: 'state:a', from_version: 1, to: 'state:b', version: 2 },
      { from: 'log:1', from_version: null, to: 'state:a', version: 1 },
    ])
    expect((await s.ok('GET', '/lineage?of=state:b&depth=1')).edges).toHaveLength(2)
    const down = await s.ok('GET', '/lineage?of=log:1&direction=down')
    expect((down.nodes as unknown as { ref: string }[]).map(({ ref }) => ref)).toEqual([
      'log:1',
      'state:a',
      'state:b',
    ])
    expect((await s.ok('GET', '/lineage?of=log:1&direction=down&at=1')).edges).toHaveLength(1)
    expect((await s.ok('GET', '/lineage?of=state:a')).edges).toEqual([])
    expect((await s.ok('GET', '/lineage?of=state:a@1')).edges).toHaveLength(1)
    expect((await s.ok('POST', '/query', { sql: 'SELECT count(*) FROM lineage', at: 1 })).rows).toEqual([[1]])
    expect((await s.call('GET', '/lineage?of=nope')).status).toBe(422)
    expect((await s.call('GET', '/lineage')).status).toBe(422)
    expect((await s.call('GET', '/lineage?of=log:1&direction=sideways')).status).toBe(422)
  })
})
