// Uploads in parts: any order, again, side by side, and nothing of it before all of it is there.

import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { Client, contentDigest, freshFleet, keysOf, noise, sha256Of } from './support.ts'

const MiB = 1024 * 1024
const part = 8 * MiB

interface Begun {
  upload: string
  part_size: number
}

async function begin(client: Client, size?: number): Promise<Begun> {
  const response = await client.json('POST', '/uploads', size === undefined ? {} : { size })
  expect(response.status).toBe(201)
  return response.json()
}

function putPart(client: Client, upload: string, n: number, bytes: BodyInit, headers = {}) {
  return client.ask(`/uploads/${upload}/parts/${n}`, { method: 'PUT', body: bytes, headers })
}

function complete(client: Client, upload: string, parts: number[], digest?: string) {
  return client.json(
    'POST',
    `/uploads/${upload}/complete`,
    digest === undefined ? { parts } : { parts, digest },
  )
}

const bytes = noise(2 * part + 5, 11)
const pieces = [bytes.slice(0, part), bytes.slice(part, 2 * part), bytes.slice(2 * part)] as const

async function putAll(client: Client, upload: string): Promise<void> {
  // The last first: no order is asked for.
  for (const n of [3, 1, 2]) expect((await putPart(client, upload, n, pieces[n - 1] ?? '')).status).toBe(200)
}

describe('an upload', () => {
  it('is one blob once it is complete, with the SHA-256 of the whole', async () => {
    const client = await Client.make()
    const { upload, part_size } = await begin(client, bytes.length)
    expect(part_size).toBe(part)
    await putAll(client, upload)
    const sha256 = await sha256Of(bytes)
    const done = await complete(client, upload, [1, 2, 3], sha256)
    expect(await done.json()).toEqual({ blob: sha256, size: bytes.length })
    const commit = await client.json('POST', '/commits', {
      ops: [{ op: 'file.put', path: 'big', blob: sha256 }],
    })
    expect(commit.status).toBe(201)
    const got = await client.get('big', { range: `bytes=${part - 2}-${part + 1}` })
    expect(new Uint8Array(await got.arrayBuffer())).toEqual(bytes.slice(part - 2, part + 2))
  })

  it('is listed with the parts that arrived, so that it can be resumed', async () => {
    const client = await Client.make()
    const { upload } = await begin(client)
    await putPart(client, upload, 2, pieces[1])
    const shown = await (await client.ask(`/uploads/${upload}`)).json()
    expect(shown).toEqual({ upload, part_size: part, size: null, parts: [{ part: 2, size: part }] })
  })

  it('F9: completes only with its parts in order, each once, none missing', async () => {
    const client = await Client.make()
    const { upload } = await begin(client)
    await putPart(client, upload, 1, pieces[0])
    await putPart(client, upload, 3, pieces[2])
    for (const parts of [[2, 1], [1, 1], [1, 3], [1, 2, 3], [0], [3]]) {
      const refused = await complete(client, upload, parts)
      expect([parts, refused.status]).toEqual([parts, 422])
      expect((await refused.json<{ pointer: string }>()).pointer).toMatch(/^\/parts\/\d$/)
    }
    await putPart(client, upload, 2, pieces[1])
    expect((await complete(client, upload, [1, 2, 3])).status).toBe(200)
  })

  it('F9: is not changed by a part that comes again after it is complete', async () => {
    const client = await Client.make()
    const { upload } = await begin(client)
    await putAll(client, upload)
    const first = await (await complete(client, upload, [1, 2, 3])).json<{ blob: string }>()
    expect((await putPart(client, upload, 2, noise(part, 99))).status).toBe(404)
    expect(await (await complete(client, upload, [1, 2, 3])).json()).toEqual(first)
    const got = await client.ask(`/blobs/${first.blob}`)
    expect(await sha256Of(new Uint8Array(await got.arrayBuffer()))).toBe(first.blob)
  })

  it('F9: takes the last of several tries of a part', async () => {
    const client = await Client.make()
    const { upload } = await begin(client)
    await putPart(client, upload, 2, noise(part, 98))
    await putAll(client, upload)
    expect(await (await complete(client, upload, [1, 2, 3])).json()).toMatchObject({
      blob: await sha256Of(bytes),
    })
  })

  it('of another session is not there', async () => {
    const [one, other] = [await Client.make(), await Client.make()]
    const { upload } = await begin(one)
    await putPart(one, upload, 1, pieces[2])
    expect((await complete(other, upload, [1])).status).toBe(404)
    expect((await putPart(other, upload, 1, pieces[2])).status).toBe(404)
    expect((await other.ask(`/uploads/${upload}`)).status).toBe(404)
    expect((await other.ask(`/uploads/${upload}`, { method: 'DELETE' })).status).toBe(404)
    expect((await complete(one, upload, [1])).status).toBe(200)
  })

  it('with another digest than declared is refused, and its bytes go', async () => {
    const client = await Client.make(await freshFleet())
    const { upload } = await begin(client)
    await putPart(client, upload, 1, pieces[2])
    const refused = await complete(client, upload, [1], 'cd'.repeat(32))
    expect(refused.status).toBe(412)
    expect((await complete(client, upload, [1])).status).toBe(404)
    await client.stub.expireUploads(0)
    expect(await keysOf(client.fleet)).toEqual([])
  })

  it('takes no part that is too large, too small for its place, empty, or out of range', async () => {
    const client = await Client.make()
    const { upload } = await begin(client, bytes.length)
    const answers = [
      await putPart(client, upload, 1, noise(part + 1)),
      await putPart(client, upload, 1, noise(100)),
      await putPart(client, upload, 3, noise(part)),
      await putPart(client, upload, 1, ''),
      await putPart(client, upload, 4, noise(5)),
      await putPart(client, upload, 0, noise(5)),
      await putPart(client, upload, 10_001, noise(5)),
      await putPart(client, upload, 3, pieces[2], { 'content-digest': contentDigest('ab'.repeat(32)) }),
    ]
    expect(answers.map((one) => one.status)).toEqual([413, 422, 422, 422, 422, 422, 422, 412])
    expect(await (await client.ask(`/uploads/${upload}`)).json()).toMatchObject({ parts: [] })
  })

  it('of unknown size refuses a small part in the middle when it is to be completed', async () => {
    const client = await Client.make()
    const { upload } = await begin(client)
    await putPart(client, upload, 1, noise(6 * MiB))
    await putPart(client, upload, 2, pieces[2])
    const refused = await complete(client, upload, [1, 2])
    expect([refused.status, (await refused.json<{ pointer: string }>()).pointer]).toEqual([422, '/parts/0'])
  })

  it('that was aborted is gone, and so are its bytes', async () => {
    const client = await Client.make(await freshFleet())
    const { upload } = await begin(client)
    await putPart(client, upload, 1, pieces[2])
    expect((await client.ask(`/uploads/${upload}`, { method: 'DELETE' })).status).toBe(204)
    expect((await complete(client, upload, [1])).status).toBe(404)
    await client.stub.expireUploads(0)
    const left = await runInDurableObject(
      env.SESSION.get(env.SESSION.idFromName(`${client.fleet}/${client.session}`)),
      (_, state) => state.storage.sql.exec('SELECT * FROM uploads').toArray(),
    )
    expect([left, await keysOf(client.fleet)]).toEqual([[], []])
  })

  it('that nobody finishes expires; one in use does not', async () => {
    const client = await Client.make(await freshFleet())
    const { upload } = await begin(client)
    await putPart(client, upload, 1, pieces[2])
    await client.stub.expireUploads(Date.now() - 60_000)
    expect((await client.ask(`/uploads/${upload}`)).status).toBe(200)
    await client.stub.expireUploads(Date.now() + 1)
    expect((await client.ask(`/uploads/${upload}`)).status).toBe(404)
  })

  it('that is complete keeps its bytes when its own row expires', async () => {
    const client = await Client.make()
    const { upload } = await begin(client)
    await putPart(client, upload, 1, pieces[2])
    const { blob } = await (await complete(client, upload, [1])).json<{ blob: string }>()
    await client.stub.expireUploads(Date.now() + 1)
    expect((await client.ask(`/uploads/${upload}`)).status).toBe(404)
    const got = await client.ask(`/blobs/${blob}`)
    expect(new Uint8Array(await got.arrayBuffer())).toEqual(pieces[2])
  })

  it('of bytes that the fleet has already leaves one object', async () => {
    const fleet = await freshFleet()
    const [one, other] = [await Client.make(fleet), await Client.make(fleet)]
    for (const client of [one, other]) {
      const { upload } = await begin(client)
      await putPart(client, upload, 1, pieces[0])
      expect((await complete(client, upload, [1])).status).toBe(200)
      await client.stub.expireUploads(Date.now() + 1)
    }
    expect(await keysOf(fleet)).toHaveLength(1)
    const got = await other.ask(`/blobs/${await sha256Of(pieces[0])}`)
    expect(await sha256Of(new Uint8Array(await got.arrayBuffer()))).toBe(await sha256Of(pieces[0]))
  })
})
