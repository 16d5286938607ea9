// What bytes and names say of a file.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeBytes } from '../../src/media/describe.ts'
import { typeOf } from '../../src/media/types.ts'
import { Client, noise, sha256Of } from './support.ts'

function ascii(text: string): number[] {
  return [...text].map((c) => c.charCodeAt(0))
}

function u32(...values: number[]): number[] {
  return values.flatMap((n) => [(n >>> 24) & 255, (n >>> 16) & 255, (n >>> 8) & 255, n & 255])
}

function little(n: number, bytes: number): number[] {
  return Array.from({ length: bytes }, (_, i) => Math.floor(n / 256 ** i) & 255)
}

function box(type: string, ...content: number[][]): number[] {
  const body = content.flat()
  return [...u32(body.length + 8), ...ascii(type), ...body]
}

const png = Uint8Array.from([
  ...[0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10],
  ...[...u32(13), ...ascii('IHDR'), ...u32(640, 480), 8, 6, 0, 0, 0, ...u32(0)],
  ...[...u32(0), ...ascii('IEND'), ...u32(0xae426082)],
])
const samples = 16_000
const wav = Uint8Array.from([
  ...ascii('RIFF'),
  ...little(36 + samples * 2, 4),
  ...ascii('WAVEfmt '),
  ...little(16, 4),
  ...little(1, 2),
  ...little(1, 2),
  ...little(8000, 4),
  ...little(16_000, 4),
  ...little(2, 2),
  ...little(16, 2),
  ...ascii('data'),
  ...little(samples * 2, 4),
  ...new Array<number>(samples * 2).fill(0),
])
const mp4 = Uint8Array.from([
  ...box('ftyp', ascii('isom'), u32(512), ascii('isomiso2mp41')),
  ...box(
    'moov',
    box('mvhd', u32(0, 0, 0, 1000, 12_500), new Array<number>(80).fill(0)),
    box(
      'trak',
      box('tkhd', u32(0, 0, 0, 1, 0, 12_500), new Array<number>(52).fill(0), u32(1920 << 16, 1080 << 16)),
    ),
  ),
])
const pdf = new TextEncoder().encode(
  '%PDF-1.4\n1 0 obj<</Type/Pages/Kids[2 0 R 3 0 R]/Count 2>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n',
)

describe('bytes', () => {
  it('tell their type and their measures', async () => {
    expect(await describeBytes(png, png.length)).toEqual({
      type: 'image/png',
      meta: { width: 640, height: 480 },
    })
    expect(await describeBytes(wav, wav.length)).toMatchObject({
      type: 'audio/wav',
      meta: { duration: 2, sample_rate: 8000, channels: 1 },
    })
    expect(await describeBytes(mp4, mp4.length)).toEqual({
      type: 'video/mp4',
      meta: { width: 1920, height: 1080, duration: 12.5 },
    })
    expect(await describeBytes(pdf, pdf.length)).toEqual({ type: 'application/pdf', meta: { pages: 2 } })
    expect(await describeBytes(new TextEncoder().encode('héllo\n'), 7)).toEqual({
      type: 'text/plain; charset=utf-8',
    })
    expect(await describeBytes(noise(1000, 2), 1000)).toEqual({})
  })

  it('that are cut off or broken leave a note', async () => {
    const broken = png.slice(0, 20)
    expect(await describeBytes(broken, broken.length)).toMatchObject({
      meta: { note: expect.stringMatching(/^not read/) },
    })
    expect(await describeBytes(mp4.slice(0, 40), 10 ** 9)).toMatchObject({
      meta: { note: expect.any(String) },
    })
  })

  it('of any kind never fail', async () => {
    const starts = [png, wav.slice(0, 60), mp4, pdf].map((one) => [...one])
    const hostile = fc
      .tuple(
        fc.constantFrom(...starts),
        fc.array(fc.tuple(fc.nat(120), fc.nat(255)), { maxLength: 12 }),
        fc.nat(300),
      )
      .map(([start, changes, cut]) => {
        const bytes = Uint8Array.from(start)
        for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value
        return bytes.slice(0, cut)
      })
    await fc.assert(
      fc.asyncProperty(fc.oneof(hostile, fc.uint8Array({ maxLength: 200 })), async (bytes) => {
        const described = await describeBytes(bytes, bytes.length)
        expect(JSON.parse(JSON.stringify(described))).toEqual(described)
      }),
      { numRuns: 300 },
    )
  })
})

describe('a name', () => {
  it('tells what bytes of many kinds are, and no more', () => {
    const text = 'text/plain; charset=utf-8'
    expect(typeOf(text, 'a/b.md')).toBe('text/markdown; charset=utf-8')
    expect(typeOf(text, 'data.json')).toBe('application/json')
    expect(typeOf(text, 'main.ts')).toBe(text)
    expect(typeOf(text, 'noext')).toBe(text)
    expect(typeOf('image/png', 'lies.txt')).toBe('image/png')
    expect(typeOf(undefined, 'lies.txt')).toBeUndefined()
    expect(typeOf('application/xml', 'drawing.svg')).toBe('image/svg+xml')
    expect(typeOf(undefined, 'unknown')).toBeUndefined()
  })
})

describe('a file', () => {
  it('without a type gets one, and media get measures, by every way in', async () => {
    const client = await Client.make()
    await client.put('shot', png)
    await client.ask(`/blobs/${await sha256Of(wav)}`, { method: 'PUT', body: wav })
    const ops = [{ op: 'file.put', path: 'sound', blob: await sha256Of(wav) }]
    await client.json('POST', '/commits', { ops })
    const { items } = await (await client.ask('/files')).json<{ items: object[] }>()
    expect(items).toMatchObject([
      { path: 'shot', type: 'image/png', meta: { width: 640, height: 480 } },
      { path: 'sound', type: 'audio/wav', meta: { duration: 2 } },
    ])
    expect((await client.get('shot')).headers.get('content-type')).toBe('image/png')
  })

  it('keeps the type and the meta it was given', async () => {
    const client = await Client.make()
    await client.put('a', png, { 'content-type': 'application/x-mine' })
    expect((await client.get('a')).headers.get('content-type')).toBe('application/x-mine')
    const ops = [{ op: 'file.put', path: 'b', blob: await sha256Of(png), meta: { alt: 'a cat' } }]
    await client.json('POST', '/commits', { ops })
    const { items } = await (await client.ask('/files?prefix=b')).json<{ items: object[] }>()
    expect(items).toMatchObject([{ type: 'image/png', meta: { alt: 'a cat' } }])
  })

  it('that is not what it claims to be is stored, with a note', async () => {
    const client = await Client.make()
    const put = await client.put('a.png', noise(500), { 'content-type': 'image/png' })
    expect(put.status).toBe(201)
    const { items } = await (await client.ask('/files')).json<{ items: object[] }>()
    expect(items).toMatchObject([{ type: 'image/png', meta: { note: expect.stringMatching(/^not read/) } }])
  })
})
