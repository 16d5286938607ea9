// Many small files: few requests, few objects, and the whole tree back as it was.

import { packTar, unpackTar } from 'modern-tar'
import { describe, expect, it } from 'vitest'
import { watched, writes } from './faulty.ts'
import { Client, freshFleet, keysOf, noise, sha256Of } from './support.ts'

const KiB = 1024
const MiB = 1024 * KiB

interface Named {
  sha256: string
  bytes: Uint8Array<ArrayBuffer>
}

async function named(count: number, size: number, seed = 1): Promise<Named[]> {
  const files: Named[] = []
  for (let i = 0; i < count; i++) {
    const bytes = noise(size, seed * 100_000 + i)
    files.push({ sha256: await sha256Of(bytes), bytes })
  }
  return files
}

function archive(files: Named[]): Promise<Uint8Array<ArrayBuffer>> {
  return packTar(
    files.map(({ sha256, bytes }) => ({ header: { name: sha256, size: bytes.length }, body: bytes })),
  )
}

const tar = { 'content-type': 'application/x-tar' }

function postBlobs(client: Client, body: BodyInit): Promise<Response> {
  return client.ask('/blobs', { method: 'POST', body, headers: tar })
}

describe('an archive of blobs', () => {
  it('of 1,000 files is stored in at most 10 writes; the same again in none', async () => {
    const client = await Client.make(await freshFleet())
    const files = await named(1000, 4 * KiB)
    const first = watched()
    const body = await archive(files)
    const pushed = await client.askWith(first.env, '/blobs', { method: 'POST', body, headers: tar })
    expect(await pushed.json()).toEqual({ stored: 1000, bytes: 1000 * 4 * KiB })
    expect(writes(first.calls)).toBeLessThanOrEqual(10)
    const ops = files.map(({ sha256 }, i) => ({ op: 'file.put', path: `tree/${i}`, blob: sha256 }))
    expect((await client.json('POST', '/commits', { ops })).status).toBe(201)
    const missing = await client.json('POST', '/blobs/missing', { digests: files.map((file) => file.sha256) })
    expect(await missing.json()).toEqual({ missing: [] })
    const second = watched()
    await client.askWith(second.env, '/blobs', { method: 'POST', body, headers: tar })
    expect(writes(second.calls)).toBe(0)
    for (const i of [0, 1, 500, 999])
      expect(new Uint8Array(await (await client.get(`tree/${i}`)).arrayBuffer())).toEqual(files[i]?.bytes)
    expect((await keysOf(client.fleet)).length).toBeLessThanOrEqual(10)
  })

  it('may hold files of every size, the empty one and one file twice', async () => {
    const client = await Client.make()
    const files = [
      ...(await named(1, 0)),
      ...(await named(2, 100)),
      ...(await named(1, 300 * KiB)),
      ...(await named(1, 17 * MiB)),
      ...(await named(1, 100)),
    ]
    expect(await (await postBlobs(client, await archive(files))).json()).toMatchObject({ stored: 5 })
    for (const { sha256, bytes } of files) {
      const got = await client.ask(`/blobs/${sha256}`)
      expect(await sha256Of(new Uint8Array(await got.arrayBuffer()))).toBe(await sha256Of(bytes))
    }
  })

  it('with one false name gives the session nothing', async () => {
    const client = await Client.make()
    const [good, bad] = await named(2, 100)
    if (!good || !bad) throw new Error('no files')
    const lying = [good, { sha256: 'ab'.repeat(32), bytes: bad.bytes }]
    expect((await postBlobs(client, await archive(lying))).status).toBe(412)
    expect((await client.ask(`/blobs/${good.sha256}`)).status).toBe(404)
  })

  it('that is none, is cut off, or names something else is refused', async () => {
    const client = await Client.make()
    const whole = await archive(await named(3, 1000))
    const readme = await packTar([{ header: { name: 'readme.md', size: 2 }, body: 'hi' }])
    const bodies = [noise(5000), whole.slice(0, 1700), readme]
    for (const body of bodies) expect((await postBlobs(client, body)).status).toBe(422)
    const untyped = await client.ask('/blobs', { method: 'POST', body: whole })
    expect(untyped.status).toBe(415)
  })
})

describe('missing', () => {
  it('is honest only about what this session holds', async () => {
    const [one, other] = [await Client.make(), await Client.make()]
    await one.put('f', 'secret')
    const digests = [await sha256Of('secret'), await sha256Of('else')]
    expect(await (await one.json('POST', '/blobs/missing', { digests })).json()).toEqual({
      missing: [digests[1]],
    })
    expect(await (await other.json('POST', '/blobs/missing', { digests })).json()).toEqual({
      missing: digests,
    })
  })

  it('takes 1,000 digests and no more', async () => {
    const client = await Client.make()
    const digests = Array.from({ length: 1001 }, (_, i) => i.toString(16).padStart(64, '0'))
    expect((await client.json('POST', '/blobs/missing', { digests })).status).toBe(422)
    expect((await client.json('POST', '/blobs/missing', { digests: digests.slice(1) })).status).toBe(200)
    expect((await client.json('POST', '/blobs/missing', { digests: ['no'] })).status).toBe(422)
  })
})

describe('a small file', () => {
  it('is one commit and no write to R2, and is packed with others behind the answer', async () => {
    const client = await Client.make(await freshFleet())
    const seen = watched()
    for (let i = 0; i < 20; i++) {
      const asked = { method: 'PUT', body: noise(2000, i) }
      expect((await client.askWith(seen.env, `/files/f${i}`, asked)).status).toBe(201)
    }
    expect(new Set(seen.calls)).toEqual(new Set(['SESSION.commit']))
    await client.stub.flushBlobs()
    expect(await keysOf(client.fleet)).toHaveLength(1)
    for (let i = 0; i < 20; i++)
      expect(new Uint8Array(await (await client.get(`f${i}`)).arrayBuffer())).toEqual(noise(2000, i))
  })

  it('is located in R2 once it is asked where it lies, as a snapshot asks', async () => {
    const client = await Client.make(await freshFleet())
    await client.put('a', 'one')
    await client.put('b', 'two!')
    const located = await client.stub.locateBlobs([await sha256Of('two!')])
    expect(located).toMatchObject({ ok: true, blobs: [{ sha256: await sha256Of('two!'), size: 4 }] })
    expect(await client.stub.flushBlobs()).toEqual({ ok: true, packed: 0 })
  })
})

describe('a tree as tar', () => {
  const odd = [
    'ünï/é.md',
    `${'d/'.repeat(120)}deep.txt`,
    `${'x'.repeat(200)}.txt`,
    'two\nlines',
    'q\'"#?%+ 😀',
  ]

  it('keeps names of any script and length, modes, times and links', async () => {
    const client = await Client.make()
    for (const path of odd) await client.put(path, `at ${path}`)
    await client.put('run.sh', '#!', { 'lares-mode': '100755', 'lares-mtime': '2024-05-06T07:08:09.500Z' })
    await client.put('link', '../run.sh', { 'lares-mode': '120000' })
    const response = await client.ask('/files?format=tar')
    expect(response.headers.get('content-type')).toBe('application/x-tar')
    const entries = await unpackTar(new Uint8Array(await response.arrayBuffer()))
    const byName = new Map(entries.map((entry) => [entry.header.name, entry]))
    expect([...byName.keys()].sort()).toEqual([...odd, 'run.sh', 'link'].sort())
    for (const path of odd) expect(new TextDecoder().decode(byName.get(path)?.data)).toBe(`at ${path}`)
    expect(byName.get('run.sh')?.header).toMatchObject({ mode: 0o755, pax: { mtime: '1714979289.5' } })
    expect(byName.get('link')?.header).toMatchObject({ type: 'symlink', linkname: '../run.sh', size: 0 })
  })

  it('holds 1,200 files of a packed tree, each with its own bytes, at a version and below a prefix', async () => {
    const client = await Client.make()
    const files = await named(1200, 700, 7)
    await postBlobs(client, await archive(files))
    const ops = files.map(({ sha256 }, i) => ({ op: 'file.put', path: `t/${i}`, blob: sha256 }))
    await client.json('POST', '/commits', { ops: ops.slice(0, 1000) })
    const { version } = await (await client.json('POST', '/commits', { ops: ops.slice(1000) })).json<{
      version: number
    }>()
    await client.json('POST', '/commits', { ops: [{ op: 'file.delete', prefix: 't/' }] })
    await client.put('u', 'not here')
    const response = await client.ask(`/files?format=tar&prefix=t/&at=${version}`)
    const entries = await unpackTar(new Uint8Array(await response.arrayBuffer()))
    expect(entries).toHaveLength(1200)
    for (const { header, data } of entries)
      expect(Buffer.from(data ?? []).equals(files[Number(header.name.slice(2))]?.bytes ?? Buffer.of(1))).toBe(
        true,
      )
  })

  it('takes neither pages nor folders', async () => {
    const client = await Client.make()
    for (const query of ['limit=3', 'delimiter=/', 'cursor=x'])
      expect((await client.ask(`/files?format=tar&${query}`)).status).toBe(422)
    expect((await client.ask('/files?format=zip')).status).toBe(422)
  })
})
