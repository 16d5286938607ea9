// Single files of every size, over the edge.

import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { Client, contentDigest, freshFleet, keysOf, noise, sha256Of, unbounded } from './support.ts'

const KiB = 1024
const MiB = 1024 * KiB
const sizes = [0, 1, 32 * KiB, 32 * KiB + 1, 16 * MiB, 16 * MiB + 1]

describe('a file', () => {
  for (const size of sizes) {
    it(`of ${size} bytes comes back byte for byte, with its digest`, async () => {
      const client = await Client.make()
      const bytes = noise(size, size)
      const put = await client.put('a/b.bin', bytes)
      expect(put.status).toBe(201)
      const sha256 = await sha256Of(bytes)
      expect(await put.json()).toMatchObject({ path: 'a/b.bin', blob: sha256, size })
      const got = await client.get('a/b.bin')
      expect(got.headers.get('content-length')).toBe(String(size))
      expect(await sha256Of(new Uint8Array(await got.arrayBuffer()))).toBe(sha256)
    })

    it(`F8: of ${size} bytes and no known length is stored intact`, async () => {
      const client = await Client.make()
      const bytes = noise(size, size + 7)
      const put = await client.put('b.bin', unbounded(bytes))
      expect(put.status).toBe(201)
      const sha256 = await sha256Of(bytes)
      expect(await put.json()).toMatchObject({ blob: sha256, size })
      const got = await client.get('b.bin')
      expect(await sha256Of(new Uint8Array(await got.arrayBuffer()))).toBe(sha256)
    })

    it(`of ${size} bytes with a wrong digest is refused and leaves no object`, async () => {
      const client = await Client.make(await freshFleet())
      const wrong = contentDigest('ab'.repeat(32))
      const put = await client.put('c.bin', noise(size, size + 9), { 'content-digest': wrong })
      expect(put.status).toBe(412)
      expect(await put.json()).toMatchObject({ code: 'digest_mismatch' })
      expect((await client.get('c.bin')).status).toBe(404)
      expect(await keysOf(client.fleet)).toEqual([])
    })
  }

  it('with the right digest declared lies under its SHA-256, once for all sessions', async () => {
    const [one, other] = [await Client.make(), await Client.make()]
    const bytes = noise(20 * MiB, 5)
    const sha256 = await sha256Of(bytes)
    const headers = { 'content-digest': contentDigest(sha256) }
    expect((await one.put('x', bytes, headers)).status).toBe(201)
    expect((await other.put('y', bytes)).status).toBe(201)
    const found = await other.stub.findBlob(sha256)
    expect(found).toMatchObject({ place: { key: `fleets/default/blobs/${sha256}` } })
    expect(await sha256Of(new Uint8Array(await (await other.get('y')).arrayBuffer()))).toBe(sha256)
  })

  it('is not given for a digest alone, however it is declared', async () => {
    const [one, other] = [await Client.make(), await Client.make()]
    const bytes = noise(17 * MiB, 6)
    const sha256 = await sha256Of(bytes)
    await one.put('x', bytes, { 'content-digest': contentDigest(sha256) })
    const lie = noise(17 * MiB, 66)
    const put = await other.put('y', lie, { 'content-digest': contentDigest(sha256) })
    expect(put.status).toBe(412)
    expect((await other.ask(`/blobs/${sha256}`)).status).toBe(404)
    expect(await (await other.json('POST', '/blobs/missing', { digests: [sha256] })).json()).toEqual({
      missing: [sha256],
    })
  })
})

describe('ranges', () => {
  it('F6: of an empty file are never satisfiable, and its length is 0', async () => {
    const client = await Client.make()
    await client.put('empty', '')
    expect((await client.get('empty')).headers.get('content-length')).toBe('0')
    for (const range of ['bytes=0-', 'bytes=-5', 'bytes=0-0']) {
      const got = await client.get('empty', { range })
      expect([range, got.status, got.headers.get('content-range')]).toEqual([range, 416, 'bytes */0'])
    }
  })

  for (const size of [10, 100_000, 17 * MiB]) {
    it(`F6: of ${size} bytes are what was asked for, wherever they lie`, async () => {
      const client = await Client.make()
      const bytes = noise(size, 3)
      await client.put('f', bytes)
      const cases: [string, number, number][] = [
        ['bytes=0-0', 0, 1],
        [`bytes=${size - 2}-${size + 99}`, size - 2, size],
        ['bytes=-4', size - 4, size],
        ['bytes=2-5', 2, 6],
      ]
      const check = async () => {
        for (const [range, start, end] of cases) {
          const got = await client.get('f', { range })
          expect(got.status).toBe(206)
          expect(got.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/${size}`)
          expect(new Uint8Array(await got.arrayBuffer())).toEqual(bytes.slice(start, end))
        }
        expect((await client.get('f', { range: 'bytes=-0' })).status).toBe(416)
        expect((await client.get('f', { range: `bytes=${size}-` })).status).toBe(416)
      }
      await check()
      await client.stub.flushBlobs()
      await check()
      const head = await client.ask('/files/f', { method: 'HEAD' })
      expect(head.headers.get('content-length')).toBe(String(size))
    })
  }
})

describe('a blob that is cached', () => {
  const bytes = noise(200_000, 77)

  async function cachedFile(): Promise<{ client: Client; key: string; etag: string }> {
    const client = await Client.make(await freshFleet())
    const etag = (await client.put('f', bytes)).headers.get('etag') ?? ''
    await (await client.get('f')).arrayBuffer()
    const [key = ''] = await keysOf(client.fleet)
    return { client, key, etag }
  }

  it('is read from near by, whole and in ranges', async () => {
    const { client, key } = await cachedFile()
    // Only the cache can have it now.
    await expect
      .poll(async () => {
        await (await client.get('f')).arrayBuffer()
        return caches.default.match(`https://blobs.lares.invalid/${client.fleet}/${await sha256Of(bytes)}`)
      })
      .toBeDefined()
    await env.BLOBS.delete(key)
    const got = await client.get('f')
    expect(new Uint8Array(await got.arrayBuffer())).toEqual(bytes)
    const part = await client.get('f', { range: 'bytes=10-19' })
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 10-19/${bytes.length}`])
    expect(new Uint8Array(await part.arrayBuffer())).toEqual(bytes.slice(10, 20))
  })

  it('is out of reach the moment the file or the session is deleted', async () => {
    const { client } = await cachedFile()
    await client.ask('/files/f', { method: 'DELETE' })
    expect((await client.get('f')).status).toBe(404)
    await client.ask('', { method: 'DELETE' })
    expect((await client.ask(`/blobs/${await sha256Of(bytes)}`)).status).toBe(410)
    const stranger = await Client.make(client.fleet)
    expect((await stranger.ask(`/blobs/${await sha256Of(bytes)}`)).status).toBe(404)
  })
})
