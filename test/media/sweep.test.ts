// The sweep removes what nothing refers to, and nothing else.

import { runDurableObjectAlarm } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { sweepOnSchedule } from '../../src/edge/sweep.ts'
import { holdObjects, ledgerAt, ledgerOf, releaseObjects } from '../../src/media/hold.ts'
import { Client, freshFleet, keysOf, noise, sha256Of } from './support.ts'
import { expectNoStray, keysHeld, sweep } from './sweep-support.ts'

const big = 40_000

async function putBlob(client: Client, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const sha256 = await sha256Of(bytes)
  expect((await client.ask(`/blobs/${sha256}`, { method: 'PUT', body: bytes })).status).toBe(201)
  return sha256
}

describe('the sweep', () => {
  it('G4: finds nothing where everything is referred to: now, in the past, by value, in flight', async () => {
    const client = await Client.make(await freshFleet())
    await client.put('now', noise(big, 1))
    await client.put('past', noise(big, 2))
    await client.put('past', 'small')
    await client.put('gone', noise(big, 3))
    await client.ask('/files/gone', { method: 'DELETE' })
    await client.json('PUT', '/state/large', 'x'.repeat(300_000))
    await client.json('POST', '/log', { payload: 'y'.repeat(300_000) })
    const { upload } = await (await client.json('POST', '/uploads', {})).json<{ upload: string }>()
    await client.ask(`/uploads/${upload}/parts/1`, { method: 'PUT', body: noise(100) })
    await client.stub.flushBlobs()
    const before = await keysOf(client.fleet)
    expect(await sweep(client.fleet, { dry_run: true })).toMatchObject({
      objects: 0,
      items: [],
      stopped: null,
    })
    await sweep(client.fleet)
    expect(await keysOf(client.fleet)).toEqual(before)
    expect((await client.json('POST', `/uploads/${upload}/complete`, { parts: [1] })).status).toBe(200)
  })

  it('G1: removes bytes that came without a row, and lists them first when asked', async () => {
    const client = await Client.make(await freshFleet())
    const sha256 = await putBlob(client, noise(big, 4))
    expect(await sweep(client.fleet, { dry_run: true })).toMatchObject({
      objects: 1,
      items: [{ name: sha256 }],
    })
    expect(await keysOf(client.fleet)).toHaveLength(1)
    expect(await sweep(client.fleet)).toMatchObject({ objects: 1, bytes: big })
    expect(await keysOf(client.fleet)).toEqual([])
    expect((await client.ask(`/blobs/${sha256}`)).status).toBe(404)
    const late = await client.json('POST', '/commits', { ops: [{ op: 'file.put', path: 'f', blob: sha256 }] })
    expect([late.status, (await late.json<{ code: string }>()).code]).toEqual([422, 'invalid'])
  })

  it('G3: leaves alone what came within the grace time, so that a commit may still name it', async () => {
    const client = await Client.make(await freshFleet())
    const sha256 = await putBlob(client, noise(big, 5))
    expect(await sweep(client.fleet, { grace: 3600 })).toMatchObject({ objects: 0 })
    const ops = [{ op: 'file.put', path: 'f', blob: sha256 }]
    expect((await client.json('POST', '/commits', { ops })).status).toBe(201)
    await sweep(client.fleet)
    expect(new Uint8Array(await (await client.get('f')).arrayBuffer())).toEqual(noise(big, 5))
  })

  it('removes a pack only when none of its blobs is needed', async () => {
    const client = await Client.make(await freshFleet())
    const kept = await putBlob(client, noise(100, 6))
    const other = await putBlob(client, noise(100, 7))
    await client.stub.flushBlobs()
    await client.json('POST', '/commits', { ops: [{ op: 'file.put', path: 'f', blob: kept }] })
    await sweep(client.fleet)
    expect(await keysOf(client.fleet)).toHaveLength(1)
    expect((await client.get('f')).status).toBe(200)
    const late = await putBlob(client, noise(100, 8))
    await client.stub.flushBlobs()
    await sweep(client.fleet)
    expect(await keysOf(client.fleet)).toHaveLength(1)
    expect((await client.ask(`/blobs/${late}`)).status).toBe(404)
    expect([404, 200]).toContain((await client.ask(`/blobs/${other}`)).status)
  })

  it('keeps what another session still refers to, when one is deleted', async () => {
    const fleet = await freshFleet()
    const [one, other] = [await Client.make(fleet), await Client.make(fleet)]
    const shared = noise(big, 9)
    await one.put('a', shared)
    await other.put('b', shared)
    await one.put('own', noise(big, 10))
    await one.delete()
    await sweep(fleet)
    expect(await keysOf(fleet)).toHaveLength(1)
    expect(new Uint8Array(await (await other.get('b')).arrayBuffer())).toEqual(shared)
    await expectNoStray(fleet, [other])
  })

  it('keeps what a holder of another kind holds, until it is released', async () => {
    const client = await Client.make(await freshFleet())
    const sha256 = await putBlob(client, noise(big, 11))
    const [key = ''] = await keysHeld(client)
    const holder = `snap:${client.session}/first`
    await holdObjects(env, client.fleet, holder, [{ name: sha256, key, size: big }])
    await client.delete()
    await sweep(client.fleet)
    expect(await keysOf(client.fleet)).toEqual([key])
    await releaseObjects(env, client.fleet, holder, [sha256])
    await sweep(client.fleet)
    expect(await keysOf(client.fleet)).toEqual([])
  })

  it('never has a condemned key written again: the blob that comes back lies elsewhere', async () => {
    const client = await Client.make(await freshFleet())
    const bytes = noise(big, 12)
    const sha256 = await putBlob(client, bytes)
    const [condemned] = await keysOf(client.fleet)
    await sweep(client.fleet)
    await putBlob(client, bytes)
    expect(await keysOf(client.fleet)).not.toContain(condemned)
    // A delete that was under way all the time lands now.
    await env.BLOBS.delete(condemned ?? '')
    const got = await client.ask(`/blobs/${sha256}`)
    expect(new Uint8Array(await got.arrayBuffer())).toEqual(bytes)
  })

  it('lets a blob live that is put again between any two of its steps', async () => {
    const bytes = noise(big, 20)
    const sha256 = await sha256Of(bytes)
    for (let again = 0; again < 6; again++) {
      const client = await Client.make(await freshFleet())
      await putBlob(client, bytes)
      const before = Date.now() + 1
      while (Date.now() < before) await new Promise((resolve) => setTimeout(resolve, 1))
      const ledger = ledgerAt(env, client.fleet, ledgerOf(sha256))
      const [key = ''] = await keysHeld(client)
      const steps = [
        () => client.stub.unneededKeys([key], before, false),
        () => client.stub.unneededKeys([key], before, true),
        () => ledger.letGo(client.session, [sha256], before),
        () => ledger.condemn([sha256], before),
        () => env.BLOBS.delete(key),
        () => ledger.buried([key]),
      ]
      for (const [index, step] of steps.entries()) {
        if (index === again) expect((await client.put('f', bytes)).status).toBe(201)
        // What was not condemned is not deleted.
        if (index < 4 || (await ledger.doomed(9)).includes(key)) await step()
      }
      const got = await client.get('f')
      expect([again, got.status]).toEqual([again, 200])
      expect(new Uint8Array(await got.arrayBuffer())).toEqual(bytes)
      await expectNoStray(client.fleet, [client])
      expect((await client.get('f')).status).toBe(200)
    }
  })

  it('stops where most would go, unless it is forced', async () => {
    const fleet = await freshFleet()
    const client = await Client.make(fleet)
    const wanted = Array.from({ length: 3000 }, (_, i) => ({
      name: i.toString(16).padStart(64, '0'),
      key: `fleets/${fleet}/blobs/${i}`,
      size: 1,
    }))
    await holdObjects(env, fleet, client.session, wanted)
    expect(await sweep(fleet)).toMatchObject({ objects: 0, stopped: expect.stringMatching(/most/) })
    const left = await ledgerAt(env, fleet, 0).idle(Date.now() + 1, 10)
    expect(left.objects).toBeGreaterThan(100)
    expect((await sweep(fleet, { force: true })).objects).toBe(3000)
  })

  it('runs by the clock, and takes nothing that is young', async () => {
    const client = await Client.make(await freshFleet())
    const sha256 = await putBlob(client, noise(big, 13))
    await sweepOnSchedule(env)
    expect((await client.ask(`/blobs/${sha256}`)).status).toBe(200)
    await client.put('kept', noise(big, 14))
    await sweepOnSchedule(env, Date.now() + 2 * 24 * 3600 * 1000, [client.fleet])
    expect((await client.ask(`/blobs/${sha256}`)).status).toBe(404)
    expect((await client.get('kept')).status).toBe(200)
  })

  it('is the operator’s alone', async () => {
    const client = await Client.make()
    const token = await client.tokenFor(['admin'])
    const { exports } = await import('cloudflare:workers')
    const response = await exports.default.fetch(
      new Request('https://edge.test/v1/sweep', {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
      }),
    )
    expect(response.status).toBe(403)
  })
})

describe('the catalog', () => {
  it('tells who refers to a blob', async () => {
    const client = await Client.make(await freshFleet())
    await client.put('f', noise(big, 30))
    const object = env.SESSION.get(env.SESSION.idFromName(`${client.fleet}/${client.session}`))
    await expect
      .poll(async () => {
        await runDurableObjectAlarm(object)
        const rows = await env.CATALOG.prepare(
          'SELECT session, key FROM entries WHERE fleet = ? AND blob = ?',
        )
          .bind(client.fleet, await sha256Of(noise(big, 30)))
          .all()
        return rows.results
      })
      .toEqual([{ session: client.session, key: 'f' }])
  })
})
