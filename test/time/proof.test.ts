import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { TestWorld } from '../support/world.ts'

const marker = 'MARKER-4711-secret'

async function populated() {
  const world = await TestWorld.create()
  await world.commit(
    { op: 'state.set', key: 'a', value: { deep: [1, 2, { x: null }] } },
    { op: 'log.append', payload: 'one' },
  )
  await world.putFile('f.txt', 'bytes')
  await world.commit({ op: 'state.set', key: 'a', value: 2 })
  await world.set('big', 'x'.repeat(300_000))
  await world.ok('POST', '/snapshots', { name: 's' })
  return world
}

const inObject = (world: TestWorld, act: (sql: SqlStorage) => void) =>
  runInDurableObject(env.SESSION.get(env.SESSION.idFromName(`default/${world.name}`)), (_, state) =>
    act(state.storage.sql),
  )

const verify = (world: TestWorld) => world.ok('GET', '/verify')

describe('verify', () => {
  it('finds a sound world sound, and says its root and digest', async () => {
    const world = await populated()
    const { root } = (await world.ok('GET', '/snapshots/s')) as { root: string }
    const { digest } = await world.ok('GET', '')
    expect(await verify(world)).toMatchObject({ ok: true, root, digest, problems: [], next: null })
  })

  it.each([
    ['a value', "UPDATE entries SET value = jsonb('3') WHERE key = 'a'", 'state:a@3'],
    ['a value of the past', "UPDATE past SET value = jsonb('3') WHERE key = 'a'", 'state:a@1'],
    ['an event', 'UPDATE events SET value = jsonb(\'"two"\') WHERE seq = 1', 'log:1'],
    ['an event\u2019s type', "UPDATE events SET type = 'other' WHERE seq = 1", 'log:1'],
    ['a commit\u2019s actor', "UPDATE commits SET actor = 'someone' WHERE version = 2", 'commit 2'],
    ['a commit\u2019s time', 'UPDATE commits SET at = at + 1 WHERE version = 2', 'commit 2'],
    ['a commit', 'DELETE FROM commits WHERE version = 2', 'commit 2'],
    ['an event\u2019s row', 'DELETE FROM events WHERE seq = 1', 'log:1@1'],
  ])('names what was altered: %s', async (_, sql, ref) => {
    const world = await populated()
    await inObject(world, (storage) => {
      storage.exec(sql)
    })
    const { ok, problems } = await verify(world)
    expect(ok).toBe(false)
    expect(problems.map((problem: { ref: string }) => problem.ref)).toContain(ref)
  })

  it('names a page and a blob that were altered in R2', async () => {
    const world = await populated()
    const objects = (await world.all('/snapshots/s/objects')) as {
      kind: string
      r2_key: string
      sha256: string
    }[]
    for (const { kind, r2_key } of objects) {
      const bytes = new Uint8Array((await (await env.BLOBS.get(r2_key))?.arrayBuffer()) ?? new ArrayBuffer(0))
      const altered = bytes.slice()
      altered[altered.length >> 1] = (altered[altered.length >> 1] ?? 0) ^ 1
      await env.BLOBS.put(r2_key, altered)
      expect((await verify(world)).ok, `${kind} ${r2_key}`).toBe(false)
      await env.BLOBS.put(r2_key, bytes)
    }
    expect((await verify(world)).ok).toBe(true)
  })
})

describe('erase', () => {
  async function withMarker() {
    const world = await TestWorld.create()
    await world.commit(
      { op: 'state.set', key: 'a', value: marker },
      { op: 'log.append', payload: { text: marker }, key: `k-${marker}` },
    )
    await world.putFile('f.txt', `small ${marker}`)
    await world.putFile('g.bin', `large ${marker} ${'z'.repeat(50_000)}`)
    await world.set('a', 'later')
    await world.set('keep', 'kept')
    await world.ok('POST', '/snapshots', { name: 's', at: 3 })
    return world
  }
  const refs = ['state:a', 'log:1', 'file:f.txt', 'file:g.bin']

  /** Every place where bytes are kept: the objects' tables, D1, R2. */
  async function places(worlds: TestWorld[]): Promise<string[]> {
    const found: string[] = []
    const look = (where: string, value: unknown) => {
      const text = value instanceof ArrayBuffer ? Buffer.from(value).toString('latin1') : String(value)
      if (text.includes(marker)) found.push(where)
    }
    for (const world of worlds) {
      await inObject(world, (sql) => {
        const tables = sql.exec<{ name: string }>(
          "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
        )
        for (const { name } of tables.toArray()) {
          for (const row of sql.exec(`SELECT * FROM "${name}"`).toArray()) {
            for (const [column, value] of Object.entries(row)) look(`${world.name} ${name}.${column}`, value)
          }
        }
      })
    }
    for (const table of ['entries', 'events', 'commits', 'sessions']) {
      const { results } = await env.CATALOG.prepare(`SELECT * FROM ${table}`).all()
      for (const row of results)
        for (const [column, value] of Object.entries(row)) look(`D1 ${table}.${column}`, value)
    }
    for (let cursor: string | undefined; ; ) {
      const list: R2Objects = await env.BLOBS.list(cursor === undefined ? {} : { cursor })
      for (const { key } of list.objects) look(`R2 ${key}`, await (await env.BLOBS.get(key))?.arrayBuffer())
      if (!list.truncated) break
      cursor = list.cursor
    }
    return found
  }

  async function projected(world: TestWorld): Promise<void> {
    const { version } = await world.ok('GET', '')
    for (let i = 0; i < 200; i++) {
      const row = await env.CATALOG.prepare('SELECT projected_version AS v FROM sessions WHERE session = ?')
        .bind(world.name)
        .first<{ v: number }>()
      if (row?.v === version) return
      await scheduler.wait(50)
    }
    throw new Error('the catalog did not catch up')
  }

  it('leaves no byte of the values anywhere: head, past, forks, snapshots, D1, R2', async () => {
    const world = await withMarker()
    const child = new TestWorld((await world.ok('POST', '/forks', { at: 3 })).session)
    await child.ok('POST', '/snapshots', { name: 'of-child' })
    await projected(world)
    expect(await places([world, child])).not.toEqual([])
    const { version, erased } = await world.ok('POST', '/erase', { refs, message: 'asked by the person' })
    expect(erased).toBe(5)
    await projected(world)
    await projected(child)
    expect(await places([world, child])).toEqual([])
    for (const path of ['/state/a?at=1', '/log/1', '/files/f.txt', '/files/g.bin', '/files/f.txt?at=2']) {
      expect((await world.call('GET', path)).body).toMatchObject({ status: 410, code: 'gone' })
    }
    expect((await child.call('GET', '/files/f.txt')).status).toBe(410)
    expect(await world.ok('GET', '/state/keep')).toBe('kept')
    expect(await verify(world)).toMatchObject({ ok: true, problems: [] })
    expect((await verify(world)).erased).toBeGreaterThan(0)
    expect(await verify(child)).toMatchObject({ ok: true, problems: [] })
    const commit = await world.ok('GET', `/commits/${version}`)
    expect(commit).toMatchObject({ actor: 'root', message: 'asked by the person' })
    await world.ok('POST', '/snapshots', { name: 'after' })
    expect(await verify(world)).toMatchObject({ ok: true })
  })

  it('of one version takes that value alone', async () => {
    const world = await withMarker()
    await world.ok('POST', '/erase', { refs: ['state:a@1'] })
    expect((await world.call('GET', '/state/a?at=1')).status).toBe(410)
    expect(await world.ok('GET', '/state/a')).toBe('later')
  })

  it('of what a fork inherited begins where it was written', async () => {
    const world = await withMarker()
    const child = new TestWorld((await world.ok('POST', '/forks', {})).session)
    await child.ok('POST', '/erase', { refs: ['log:1'] })
    expect((await world.call('GET', '/log/1')).status).toBe(410)
    expect((await child.call('GET', '/log/1')).status).toBe(410)
  })

  it('refuses what is not there and what is no reference, and changes nothing', async () => {
    const world = await withMarker()
    expect((await world.call('POST', '/erase', { refs: ['state:none'] })).body.code).toBe('not_found')
    expect((await world.call('POST', '/erase', { refs: ['nonsense'] })).body.code).toBe('invalid')
    expect((await world.ok('GET', '')).version).toBe(5)
  })
})

describe('retention', () => {
  it('keeps the newest versions and those of snapshots, the chain and the log', async () => {
    const world = await TestWorld.create()
    for (let i = 1; i <= 10; i++)
      await world.commit({ op: 'state.set', key: 'a', value: i }, { op: 'log.append', payload: i })
    await world.ok('POST', '/snapshots', { name: 'five', at: 5 })
    await world.ok('PATCH', '', { retention: { versions: 3 } })
    await world.set('b', 1)
    let status = 0
    for (let i = 0; i < 200 && status !== 410; i++) {
      status = (await world.call('GET', '/state/a?at=4')).status
      await scheduler.wait(50)
    }
    expect(status).toBe(410)
    expect(await world.ok('GET', '/state/a?at=snap:five')).toBe(5)
    expect(await world.ok('GET', '/state/a?at=10')).toBe(10)
    expect(await world.all('/log')).toHaveLength(10)
    expect(await verify(world)).toMatchObject({ ok: true, problems: [] })
    await inObject(world, (sql) => {
      const past = sql
        .exec<{ since: number }>("SELECT since FROM past WHERE key = 'a' ORDER BY since")
        .toArray()
      expect(past.map(({ since }) => since)).toEqual(
        [5, 9].filter((v) => past.some(({ since }) => since === v)),
      )
      expect(past.map(({ since }) => since)).toContain(5)
    })
  })
})
