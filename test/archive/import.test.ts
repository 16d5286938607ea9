import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { createFleet } from '../../src/auth/admin.ts'
import { freshName, request, TestWorld } from '../support/world.ts'
import { archiveOf, ask, everything, historyOf, importInto, richWorld } from './support.ts'

async function imported(archive: Uint8Array<ArrayBuffer>): Promise<TestWorld> {
  const name = freshName('i')
  const answer = await importInto(name, archive)
  if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
  return new TestWorld(name)
}

const rootOf = async (world: TestWorld) =>
  (await world.ok('POST', '/snapshots', { name: freshName('r') })).root

describe('an import with the journal', () => {
  it('K3 keeps ids, seq, times, hashes, versions and chain, and answers every at= as before', async () => {
    const world = await richWorld()
    const copy = await imported(await archiveOf(world, '?journal=true'))
    expect(await historyOf(copy)).toEqual(await historyOf(world))
    expect(await rootOf(copy)).toBe(await rootOf(world))
    expect(await copy.file('notes/a.txt')).toBe('first\n')
    expect(await copy.file('b.bin')).toBe('x'.repeat(90_000))
  })

  it('finds the version of a time as the original does', async () => {
    const world = await richWorld()
    const copy = await imported(await archiveOf(world, '?journal=true'))
    for (const { at } of await world.all('/commits')) {
      const read = (of: TestWorld) => of.call('GET', `/state?at=${at}`)
      expect((await read(copy)).headers.get('lares-version')).toBe(
        (await read(world)).headers.get('lares-version'),
      )
    }
  })

  it('of a past version has the history up to it', async () => {
    const world = await richWorld()
    const copy = await imported(await archiveOf(world, '?at=5&journal=true'))
    expect((await copy.ok('GET', '')).version).toBe(5)
    for (const version of [0, 1, 3, 5])
      expect(await everything(copy, version)).toEqual(await everything(world, version))
    expect((await copy.call('GET', '/state?at=6')).body.code).toBe('no_such_version')
  })

  it('goes on: it takes commits, and is exported and imported again', async () => {
    const copy = await imported(await archiveOf(await richWorld(), '?journal=true'))
    const { version } = await copy.ok('GET', '')
    await copy.set('plan', 'of the copy')
    expect((await copy.ok('GET', '')).version).toBe(version + 1)
    const again = await imported(await archiveOf(copy, '?journal=true'))
    expect(await historyOf(again)).toEqual(await historyOf(copy))
  })

  it('finds what it finds by: words of memories, indexes of tables, and where things come from', async () => {
    const world = await richWorld()
    for (const query of ['', '?journal=true']) {
      const copy = await imported(await archiveOf(world, query))
      for (const of of [world, copy]) {
        expect((await of.ok('POST', '/recall', { query: 'mill', mode: 'text' })).items[0].id).toBe('m1')
        expect((await of.call('POST', '/tables/tasks/rows', { rows: [{ name: 'a' }] })).body.code).toBe(
          'exists',
        )
        const { edges } = await of.ok('GET', '/lineage?of=state:many&direction=up')
        expect(edges.map(({ from }: { from: string }) => from).sort()).toEqual([
          'file:copy.txt',
          'state:plan',
        ])
      }
    }
  })

  it('verifies, as the original does', async () => {
    const copy = await imported(await archiveOf(await richWorld(), '?journal=true'))
    expect(await copy.ok('GET', '/verify')).toMatchObject({ ok: true, problems: [] })
  })

  it('reaches the catalog whole', async () => {
    const copy = await imported(await archiveOf(await richWorld(), '?journal=true'))
    const { version, title } = await copy.ok('GET', '')
    const stub = env.SESSION.get(env.SESSION.idFromName(`default/${copy.name}`))
    while (await runDurableObjectAlarm(stub)) {}
    const listed = (await request('GET', `/v1/sessions?prefix=${copy.name}`)).body.items[0]
    expect(listed).toMatchObject({ version, title, projected_version: version })
  })
})

describe('an import without the journal', () => {
  it('has the same root and head, the events\u2019 own times, and no past', async () => {
    const world = await richWorld()
    const copy = await imported(await archiveOf(world))
    const { version, digest, counts, bytes, created_at, updated_at } = await world.ok('GET', '')
    expect(await copy.ok('GET', '')).toMatchObject({ version, digest, counts, bytes, created_at, updated_at })
    expect(await rootOf(copy)).toBe(await rootOf(world))
    expect(await copy.all('/log?view=all')).toEqual(await world.all('/log?view=all'))
    expect(await copy.contents()).toEqual(await world.contents())
    expect((await copy.call('GET', `/state?at=${version - 1}`)).body.code).toBe('no_such_version')
    expect(await copy.ok('GET', '/verify')).toMatchObject({ ok: true, problems: [] })
  })

  it('goes on with the next version, and is exported with the journal from there', async () => {
    const world = await richWorld()
    const copy = await imported(await archiveOf(world))
    const { version } = await world.ok('GET', '')
    await copy.set('plan', 'after')
    await copy.append('after')
    const again = await imported(await archiveOf(copy, '?journal=true'))
    expect((await again.ok('GET', '')).digest).toBe((await copy.ok('GET', '')).digest)
    for (const at of [version, version + 1, version + 2])
      expect(await everything(again, at)).toEqual(await everything(copy, at))
    expect((await again.call('GET', `/state?at=${version - 1}`)).body.code).toBe('no_such_version')
    const stub = env.SESSION.get(env.SESSION.idFromName(`default/${again.name}`))
    while (await runDurableObjectAlarm(stub)) {}
    const listed = (await request('GET', `/v1/sessions?prefix=${again.name}`)).body.items[0]
    expect(listed.projected_version).toBe(version + 2)
  })

  it('of an empty world is an empty world', async () => {
    for (const query of ['', '?journal=true']) {
      const copy = await imported(await archiveOf(await TestWorld.create(), query))
      expect((await copy.ok('GET', '')).version).toBe(0)
      expect((await copy.set('a', 1)).version).toBe(1)
    }
  })
})

describe('an import', () => {
  it('into another fleet gives the same root, versions and chain', async () => {
    const world = await richWorld()
    const fleet = freshName('f').toLowerCase()
    await createFleet(env, fleet)
    const answer = await importInto(world.name, await archiveOf(world, '?journal=true'), {
      'lares-fleet': fleet,
    })
    expect(answer.status).toBe(201)
    const there = (method: string, path: string, body?: unknown) =>
      request(method, `/v1/sessions/${world.name}${path}`, body, { 'lares-fleet': fleet })
    expect((await there('GET', '')).body.digest).toBe((await world.ok('GET', '')).digest)
    expect((await there('POST', '/snapshots', { name: 's' })).body.root).toBe(await rootOf(world))
    expect((await there('GET', '/verify')).body).toMatchObject({ ok: true, problems: [] })
    expect((await there('GET', '/files/b.bin')).body).toBe('x'.repeat(90_000))
  })

  it('K3 twice under one name is refused and changes nothing; under another name it is an equal world', async () => {
    const archive = await archiveOf(await richWorld(), '?journal=true')
    const first = await imported(archive)
    const was = await historyOf(first)
    expect((await importInto(first.name, archive)).body.code).toBe('exists')
    expect(await historyOf(first)).toEqual(was)
    expect(await historyOf(await imported(archive))).toEqual(was)
  })

  it('answers a retry with the same key as it answered first', async () => {
    const archive = await archiveOf(await richWorld())
    const name = freshName('i')
    const key = { 'idempotency-key': freshName() }
    const first = await importInto(name, archive, key)
    expect(first.status).toBe(201)
    await new TestWorld(name).set('plan', 'since')
    const retry = await importInto(name, archive, key)
    expect([retry.status, retry.body]).toEqual([201, first.body])
    const other = await importInto(name, await archiveOf(await TestWorld.create()), key)
    expect(other.body.code).toBe('idempotency_mismatch')
  })

  it('of one name by several at once makes one session, whole', async () => {
    const world = await richWorld()
    const archive = await archiveOf(world, '?journal=true')
    const name = freshName('i')
    const answers = await Promise.all([1, 2, 3, 4].map(() => importInto(name, archive)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    for (const { status, body } of answers)
      if (status !== 201) expect([status, ['exists', 'in_flight'].includes(body.code)]).toEqual([409, true])
    const copy = new TestWorld(name)
    expect((await copy.ok('GET', '')).digest).toBe((await world.ok('GET', '')).digest)
    expect(await copy.ok('GET', '/verify')).toMatchObject({ ok: true, problems: [] })
  })

  it('of a deleted name is gone', async () => {
    const world = await richWorld()
    const archive = await archiveOf(world)
    await world.call('DELETE', '')
    expect((await importInto(world.name, archive)).status).toBe(410)
  })

  it('keeps what was erased erased', async () => {
    const world = await richWorld()
    await world.ok('POST', '/erase', { refs: ['state:plan', 'log:3', 'file:b.bin'] })
    for (const query of ['', '?journal=true']) {
      const copy = await imported(await archiveOf(world, query))
      expect((await copy.call('GET', '/state/plan')).status).toBe(410)
      expect((await copy.call('GET', '/files/b.bin')).status).toBe(410)
      expect(await copy.all('/log?view=all')).toEqual(await world.all('/log?view=all'))
      expect(await copy.ok('GET', '/verify')).toMatchObject({ ok: true, problems: [] })
      expect(await rootOf(copy)).toBe(await rootOf(world))
    }
  })

  it('is refused without a name, of another type, and to who may not make that session', async () => {
    const archive = await archiveOf(await TestWorld.create())
    const post = (path: string, headers: Record<string, string>) => ask('POST', path, archive, headers)
    const tar = { 'content-type': 'application/x-tar' }
    expect((await post('/v1/import', tar)).status).toBe(422)
    expect((await post('/v1/import?session=.x', tar)).status).toBe(422)
    expect((await post(`/v1/import?session=${freshName()}`, {})).status).toBe(415)
    const token = async (scopes: string[], session: string) =>
      (await request('POST', '/v1/tokens', { session, scopes, expires_in: 60 })).body.token
    const [mine, other] = [freshName(), freshName()]
    const as = async (scopes: string[], session: string) => ({
      ...tar,
      authorization: `Bearer ${await token(scopes, session)}`,
    })
    expect((await post(`/v1/import?session=${other}`, await as(['write'], mine))).status).toBe(403)
    expect((await post(`/v1/import?session=${mine}`, await as(['read', 'append'], mine))).status).toBe(403)
    expect((await post(`/v1/import?session=${mine}`, await as(['write'], mine))).status).toBe(201)
  })
})

describe('an import that is cut off', () => {
  const objectOf = (name: string) => env.SESSION.get(env.SESSION.idFromName(`default/${name}`))
  /** The rows of a cut-off import, as a killed edge leaves them. */
  async function cutOff(name: string): Promise<void> {
    const begun = await objectOf(name).stageBegin({ actor: 'root' }, 'stage')
    expect(begun.ok).toBe(true)
  }

  it('is not there for anybody, and its name is not free', async () => {
    const world = new TestWorld(freshName('i'))
    await cutOff(world.name)
    expect((await world.call('GET', '')).status).toBe(404)
    expect((await world.call('GET', '/state')).status).toBe(404)
    expect((await world.call('DELETE', '')).status).toBe(404)
    expect((await world.call('POST', '/log', { payload: 1 })).status).toBe(404)
    expect((await world.call('PUT', '', {})).body.code).toBe('in_flight')
  })

  it('is overtaken by the next under the same name', async () => {
    const archive = await archiveOf(await richWorld())
    const name = freshName('i')
    await cutOff(name)
    expect((await importInto(name, archive)).status).toBe(201)
    const late = await objectOf(name).stagePart('stage', { entries: [] })
    expect(late).toMatchObject({ ok: false, code: 'exists' })
  })

  it('is dropped by an alarm once nothing comes any more', async () => {
    const name = freshName('i')
    await cutOff(name)
    await runInDurableObject(objectOf(name), (_, { storage }) => {
      storage.sql.exec("UPDATE meta SET value = json_set(value, '$.at', 0) WHERE key = 'stage'")
    })
    expect(await runDurableObjectAlarm(objectOf(name))).toBe(true)
    const tables = await runInDurableObject(objectOf(name), (_, { storage }) =>
      storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'").toArray(),
    )
    expect(tables).toEqual([])
    expect((await new TestWorld(name).call('PUT', '', {})).status).toBe(201)
  })
})
