import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { freshName, request, TestWorld } from '../support/world.ts'
import { ask, everything, richWorld, textOf } from './support.ts'

const objectOf = (world: TestWorld) => env.SESSION.get(env.SESSION.idFromName(`default/${world.name}`))

/** Takes a snapshot, and waits until the catalog knows of it. */
async function snapshot(world: TestWorld, name: string) {
  const taken = await world.ok('POST', '/snapshots', { name })
  while (await runDurableObjectAlarm(objectOf(world))) {}
  return taken
}

/** What an object has after a disaster: nothing. */
async function lose(world: TestWorld): Promise<void> {
  await runInDurableObject(objectOf(world), (_, { storage }) => storage.deleteAll())
  await evictDurableObject(objectOf(world))
  expect((await world.call('GET', '')).status).toBe(404)
}

const restore = (world: TestWorld, name: string, headers?: Record<string, string>) =>
  world.call('POST', '/restore', { snapshot: name }, headers)

describe('a session whose object lost its storage', () => {
  it('is restored from a snapshot: the same root, digest, values, bytes and events', async () => {
    const world = await richWorld()
    const { root, version } = await snapshot(world, 's')
    const was = await everything(world, version)
    const about = await world.ok('GET', '')
    await lose(world)
    expect((await restore(world, 's')).status).toBe(201)
    expect(await everything(world, version)).toEqual(afterLoss(was, version))
    const { version: _v, digest, title, labels, created_at, counts, bytes } = about
    expect(await world.ok('GET', '')).toMatchObject({
      version,
      digest,
      title,
      labels,
      created_at,
      counts,
      bytes,
    })
    expect((await world.ok('POST', '/recall', { query: 'mill', mode: 'text' })).items[0].id).toBe('m1')
    expect((await world.call('POST', '/tables/tasks/rows', { rows: [{ name: 'a' }] })).body.code).toBe(
      'exists',
    )
    expect(await world.file('b.bin')).toBe('x'.repeat(90_000))
    expect((await world.ok('POST', '/snapshots', { name: 'again' })).root).toBe(root)
    expect(await world.ok('GET', '/verify')).toMatchObject({ ok: true, problems: [] })
  })

  it('20 cycles of snapshot, loss and restore leave equal roots, and each goes on from the one before', async () => {
    const world = await richWorld()
    for (let cycle = 0; cycle < 20; cycle++) {
      const { root, version } = await snapshot(world, `s${cycle}`)
      const { digest } = await world.ok('GET', '')
      await lose(world)
      expect((await restore(world, `s${cycle}`)).status).toBe(201)
      expect(await world.ok('GET', '')).toMatchObject({ version, digest })
      expect((await world.ok('GET', '/verify')).root).toBe(root)
      await world.commit(
        { op: 'state.set', key: `cycle ${cycle}`, value: cycle },
        { op: 'log.append', payload: cycle },
      )
      await world.putFile(`cycle-${cycle}.txt`, `${cycle}`)
    }
    expect((await world.all('/state?prefix=cycle')).length).toBe(20)
    expect(await world.ok('GET', '/verify')).toMatchObject({ ok: true, problems: [] })
  })

  it('has no past, and no version number that could be taken for a lost one', async () => {
    const world = await TestWorld.create()
    await world.set('a', 1)
    await snapshot(world, 'old')
    await world.set('a', 2)
    const { version } = await snapshot(world, 's')
    await world.set('a', 3)
    await snapshot(world, 'later')
    await lose(world)
    await restore(world, 's')
    expect(await world.ok('GET', '/state/a')).toBe(2)
    expect(await world.ok('GET', '/state/a?at=snap:s')).toBe(2)
    for (const at of [String(version - 1), String(version + 1), 'snap:old', 'snap:later'])
      expect((await world.call('GET', `/state/a?at=${at}`)).body.code).toBe('no_such_version')
  })

  it('goes on in the catalog from the version of the snapshot', async () => {
    const world = await TestWorld.create()
    await world.set('a', 1)
    const { version } = await snapshot(world, 's')
    await world.set('a', 'lost')
    await world.append('lost')
    while (await runDurableObjectAlarm(objectOf(world))) {}
    await lose(world)
    await restore(world, 's')
    await world.set('a', 'kept')
    while (await runDurableObjectAlarm(objectOf(world))) {}
    const rows = await env.CATALOG.prepare(
      'SELECT value, since, until FROM entries WHERE session = ? AND key = ? ORDER BY since',
    )
      .bind(world.name, 'a')
      .all()
    expect(rows.results).toEqual([
      { value: '1', since: version, until: version + 1 },
      { value: '"kept"', since: version + 1, until: null },
    ])
    const { items } = (await request('GET', `/v1/sessions?prefix=${world.name}`)).body
    expect(items[0]).toMatchObject({ version: version + 1, projected_version: version + 1 })
  })

  it('was a fork and still is one; its own forks live on', async () => {
    const parent = await TestWorld.create()
    await parent.commit({ op: 'state.set', key: 'a', value: 1 }, { op: 'log.append', payload: 'inherited' })
    const child = new TestWorld((await parent.ok('POST', '/forks', {})).session)
    await child.commit({ op: 'state.set', key: 'b', value: 2 }, { op: 'log.append', payload: 'own' })
    const grandchild = new TestWorld((await child.ok('POST', '/forks', {})).session)
    expect(await grandchild.contents()).toEqual(await child.contents())
    while (await runDurableObjectAlarm(objectOf(parent))) {}
    while (await runDurableObjectAlarm(objectOf(grandchild))) {}
    await snapshot(child, 's')
    const { origin } = await child.ok('GET', '')
    const was = await child.contents()
    await lose(child)
    expect((await restore(child, 's')).status).toBe(201)
    expect((await child.ok('GET', '')).origin).toEqual(origin)
    expect(await child.contents()).toEqual(was)
    expect(await grandchild.contents()).toEqual(was)
    await child.set('c', 3)
    expect(await parent.ok('POST', '/merge', { from: child.name })).toMatchObject({ conflicts: [] })
    expect(await parent.ok('GET', '/state/c')).toBe(3)
  })

  it('keeps its bytes though the sweep comes before the restore', async () => {
    const world = await TestWorld.create()
    await world.putFile('f', 'y'.repeat(80_000))
    await snapshot(world, 's')
    await lose(world)
    const swept = await request('POST', '/v1/sweep', { grace: 0, force: true })
    expect(swept.status).toBe(200)
    expect((await restore(world, 's')).status).toBe(201)
    expect(await world.file('f')).toBe('y'.repeat(80_000))
  })

  it('is not restored over what is there, from what is not there, or by who may not', async () => {
    const world = await TestWorld.create()
    await world.set('a', 1)
    await snapshot(world, 's')
    expect((await restore(world, 's')).body.code).toBe('exists')
    await lose(world)
    expect((await restore(world, 'other')).body).toMatchObject({ code: 'not_found', pointer: '/snapshot' })
    expect((await restore(new TestWorld(freshName()), 's')).status).toBe(404)
    const { token } = (
      await request('POST', '/v1/tokens', {
        session: world.name,
        scopes: ['write', 'snapshot'],
        expires_in: 60,
      })
    ).body
    const asWriter = await ask(
      'POST',
      `/v1/sessions/${world.name}/restore`,
      JSON.stringify({ snapshot: 's' }),
      {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
      },
    )
    expect(asWriter.status).toBe(403)
    expect((await world.call('GET', '')).status).toBe(404)
    // A harness that makes sure of its session must not stand in the way.
    await world.ok('PUT', '', {})
    expect((await restore(world, 's')).status).toBe(201)
    expect(await world.ok('GET', '/state/a')).toBe(1)
  })

  it('answers a retry as it answered first', async () => {
    const world = await TestWorld.create()
    await world.set('a', 1)
    await snapshot(world, 's')
    await lose(world)
    const key = { 'idempotency-key': freshName() }
    const first = await restore(world, 's', key)
    await world.set('a', 2)
    expect(await restore(world, 's', key)).toMatchObject({ status: 201, body: first.body })
  })

  it('is refused, and left as it was, when a page or a blob is missing or altered', async () => {
    const world = await TestWorld.create()
    await world.set('a', 'x'.repeat(300_000))
    await world.set('b', 'small')
    await snapshot(world, 's')
    const objects = (await world.all('/snapshots/s/objects')) as { kind: string; r2_key: string }[]
    await lose(world)
    for (const { r2_key } of objects) {
      const bytes = await (await env.BLOBS.get(r2_key))?.arrayBuffer()
      if (bytes === undefined) throw new Error('the test lost its object')
      await env.BLOBS.delete(r2_key)
      expect((await restore(world, 's')).status).toBeGreaterThanOrEqual(400)
      const altered = new Uint8Array(bytes.slice(0))
      // Of a page the salt of its first item; where bytes lie, which it tells too, is known from elsewhere.
      const salt = textOf(altered).indexOf('"salt":"')
      const place = salt === -1 ? altered.length >> 1 : salt + 8
      altered[place] = (altered[place] ?? 0) ^ 1
      await env.BLOBS.put(r2_key, altered)
      expect((await restore(world, 's')).status).toBeGreaterThanOrEqual(400)
      expect((await world.call('GET', '')).status).toBe(404)
      await env.BLOBS.put(r2_key, bytes)
    }
    expect((await restore(world, 's')).status).toBe(201)
  })
})

/** A restored world has every entry since the snapshot's version, and does not know where merged events came from. */
function afterLoss(was: object, version: number): object {
  return JSON.parse(
    JSON.stringify(was, (key, value) =>
      key === 'since' || key === '$since' ? version : key === 'origin' ? undefined : value,
    ),
  )
}
