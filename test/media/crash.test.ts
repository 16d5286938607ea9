// A crash after each single step of every way in: the world is as before or as after, what is there reads back, and once the
// sweep has run R2 holds nothing that no row knows.

import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { packTar } from 'modern-tar'
import { describe, expect, it } from 'vitest'
import { packInline } from '../../src/session/packing.ts'
import { World } from '../../src/session/world.ts'
import { type Fault, watched } from './faulty.ts'
import {
  type Asked,
  Client,
  contentDigest,
  freshFleet,
  keysOf,
  noise,
  sha256Of,
  unbounded,
} from './support.ts'
import { expectNoStray } from './sweep-support.ts'

const MiB = 1024 * 1024
const large = 16 * MiB + 3

interface WayIn {
  name: string
  slow?: true
  /** Runs the requests; answers whether the last one was told that all is well. */
  run(client: Client, ask: (path: string, asked: Asked) => Promise<Response>): Promise<boolean>
  /** What must read back if the world moved. */
  check(client: Client): Promise<void>
}

async function putting(
  ask: (path: string, asked: Asked) => Promise<Response>,
  bytes: Uint8Array<ArrayBuffer>,
  how: { digest?: boolean; unbounded?: boolean } = {},
): Promise<boolean> {
  const headers: Record<string, string> = how.digest
    ? { 'content-digest': contentDigest(await sha256Of(bytes)) }
    : {}
  const body = how.unbounded ? unbounded(bytes, 5 * MiB) : bytes
  return (await ask('/files/f', { method: 'PUT', body, headers })).ok
}

function filed(bytes: Uint8Array): (client: Client) => Promise<void> {
  const want = sha256Of(bytes)
  return async (client) => {
    const got = await client.get('f')
    if (got.status === 404) return
    expect(got.status).toBe(200)
    expect(await sha256Of(new Uint8Array(await got.arrayBuffer()))).toBe(await want)
  }
}

const small = noise(1000, 1)
const middle = noise(100_000, 2)
const huge = noise(large, 3)
const many = [noise(500, 4), noise(700, 5), noise(300_000, 6)]
const text = 'z'.repeat(300_000)

const waysIn: WayIn[] = [
  { name: 'a small file', run: (_, ask) => putting(ask, small), check: filed(small) },
  { name: 'a file', run: (_, ask) => putting(ask, middle), check: filed(middle) },
  {
    name: 'a large file with its digest',
    run: (_, ask) => putting(ask, huge, { digest: true }),
    check: filed(huge),
    slow: true,
  },
  { name: 'a large file', run: (_, ask) => putting(ask, huge), check: filed(huge), slow: true },
  {
    name: 'a large file of unknown length',
    run: (_, ask) => putting(ask, huge, { unbounded: true }),
    check: filed(huge),
    slow: true,
  },
  {
    name: 'an archive, then a commit',
    async run(_, ask) {
      const named = await Promise.all(many.map(async (body) => ({ sha256: await sha256Of(body), body })))
      const tar = await packTar(
        named.map(({ sha256, body }) => ({ header: { name: sha256, size: body.length }, body })),
      )
      const headers = { 'content-type': 'application/x-tar' }
      if (!(await ask('/blobs', { method: 'POST', body: tar, headers })).ok) return false
      const ops = named.map(({ sha256 }, i) => ({ op: 'file.put', path: `t/${i}`, blob: sha256 }))
      return (
        await ask('/commits', {
          method: 'POST',
          body: JSON.stringify({ ops }),
          headers: { 'content-type': 'application/json' },
        })
      ).ok
    },
    async check(client) {
      const got = await Promise.all(many.map((_, i) => client.get(`t/${i}`)))
      expect(new Set(got.map((one) => one.status)).size).toBe(1)
      if (got[0]?.status === 404) return
      for (const [i, one] of got.entries()) expect(new Uint8Array(await one.arrayBuffer())).toEqual(many[i])
    },
  },
  {
    name: 'an upload in parts, then a commit',
    async run(_, ask) {
      const json = { 'content-type': 'application/json' }
      const begun = await ask('/uploads', { method: 'POST', body: '{}', headers: json })
      if (!begun.ok) return false
      const { upload } = await begun.json<{ upload: string }>()
      if (!(await ask(`/uploads/${upload}/parts/1`, { method: 'PUT', body: middle })).ok) return false
      const complete = { method: 'POST', body: JSON.stringify({ parts: [1] }), headers: json }
      const done = await ask(`/uploads/${upload}/complete`, complete)
      if (!done.ok) return false
      const { blob } = await done.json<{ blob: string }>()
      const ops = [{ op: 'file.put', path: 'f', blob }]
      return (await ask('/commits', { method: 'POST', body: JSON.stringify({ ops }), headers: json })).ok
    },
    check: filed(middle),
  },
  {
    name: 'a large value',
    run: async (_, ask) =>
      (
        await ask('/state/f', {
          method: 'PUT',
          body: JSON.stringify(text),
          headers: { 'content-type': 'application/json' },
        })
      ).ok,
    async check(client) {
      const got = await client.ask('/state/f')
      if (got.status !== 404) expect(await got.json()).toBe(text)
    },
  },
]

describe('a crash after each step of', () => {
  for (const { name, run, check, slow } of waysIn) {
    it(name, async () => {
      let well = false
      for (let at = 1; !well; at++) {
        const client = await Client.make(await freshFleet())
        const { env: faulty, calls } = watched({ at, when: 'after' })
        well = await run(client, (path, asked) => client.askWith(faulty, path, asked))
        // Only a run that reached its end without the fault may say that all is well.
        if (well) expect(calls.length).toBeLessThan(at)
        await check(client)
        await expectNoStray(client.fleet, [client])
        await check(client)
        // And it can be done again; for the large ones, seen once is enough.
        if (slow && !well) continue
        expect(await run(client, (path, asked) => client.ask(path, asked))).toBe(true)
        await check(client)
        await expectNoStray(client.fleet, [client])
      }
    })
  }

  it('packing small files', async () => {
    const faults: Fault[] = [1, 2].flatMap((at) => [
      { at, when: 'before' },
      { at, when: 'after' },
    ])
    for (const fault of faults) {
      const client = await Client.make(await freshFleet())
      for (let i = 0; i < 5; i++) await client.put(`f${i}`, noise(1000, i))
      const object = env.SESSION.get(env.SESSION.idFromName(`${client.fleet}/${client.session}`))
      const { env: faulty } = watched(fault)
      await runInDurableObject(object, async (_, state) => {
        await expect(packInline(new World(state.storage), faulty)).rejects.toThrow(/crashed/)
      })
      const check = async () => {
        for (let i = 0; i < 5; i++)
          expect(new Uint8Array(await (await client.get(`f${i}`)).arrayBuffer())).toEqual(noise(1000, i))
      }
      await check()
      await expectNoStray(client.fleet, [client])
      await check()
      expect(await keysOf(client.fleet)).toHaveLength(1)
    }
  })
})
