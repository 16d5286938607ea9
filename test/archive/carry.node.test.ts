// A world carried from one edge to another, over HTTP and through files, as its owner would.

import { execFileSync } from 'node:child_process'
import { createReadStream, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Lares, LaresError, type Session } from '../../src/client/index.ts'
import { type LocalEdge, startLocal } from '../../src/local/index.ts'
import { startEdge } from '../support/edge.ts'
import { verifyArchive } from './verifier.ts'

const folder = mkdtempSync(join(tmpdir(), 'lares-archive-'))
let here: LocalEdge
let there: LocalEdge
let lares: Lares
let other: Lares
let names = 0

beforeAll(async () => {
  ;[here, there] = await Promise.all([startLocal(), startLocal()])
  lares = new Lares({ url: here.url, token: here.key })
  other = new Lares({ url: there.url, token: there.key })
})

afterAll(async () => {
  await Promise.all([here.close(), there.close()])
  rmSync(folder, { recursive: true, force: true })
})

async function world(): Promise<Session> {
  const session = await lares.sessions.create(`carried-${++names}`, { title: 'Carried', labels: { a: 'b' } })
  await session.commit((tx) => {
    tx.log.append({ payload: { text: 'hello “world”' }, key: 'k' })
    tx.state.set('plan', { steps: [1, 2.5, 'drei'] })
  })
  await session.files.put('notes/a.txt', 'first\n')
  await session.state.set('plan', 'x'.repeat(300_000))
  await session.log.append({ payload: 'y'.repeat(300_000), type: 'large' })
  await session.state.set('plan', null)
  await session.state.delete('plan')
  await session.files.put('notes/a.txt', 'second\n')
  return session
}

async function saved(session: Session, name: string, journal = true): Promise<string> {
  const file = join(folder, name)
  await writeFile(file, Readable.fromWeb((await session.export({ journal })) as never))
  return file
}

describe('an archive', () => {
  it('is listed and unpacked by the tar that every system has', async () => {
    const file = await saved(await world(), 'listed.tar')
    const names = execFileSync('tar', ['-tf', file], { encoding: 'utf8' }).trim().split('\n')
    expect(names[0]).toBe('lares.json')
    expect(names.at(-1)).toBe('end.json')
    const into = mkdtempSync(join(folder, 'unpacked-'))
    execFileSync('tar', ['-xf', file, '-C', into])
    expect(JSON.parse(readFileSync(join(into, 'lares.json'), 'utf8'))).toMatchObject({
      title: 'Carried',
      version: 7,
    })
    const sums = execFileSync('sh', ['-c', 'sha256sum *'], { cwd: join(into, 'blobs'), encoding: 'utf8' })
    for (const line of sums.trim().split('\n')) expect(line.slice(0, 64)).toBe(line.slice(66))
    expect(readdirSync(join(into, 'journal')).length).toBeGreaterThan(1)
  })

  it('is packed again by that tar and imported', async () => {
    const session = await world()
    const file = await saved(session, 'again.tar')
    const into = mkdtempSync(join(folder, 'again-'))
    execFileSync('tar', ['-xf', file, '-C', into])
    const names = execFileSync('tar', ['-tf', file], { encoding: 'utf8' }).trim().split('\n')
    const packed = execFileSync('tar', ['-cf', '-', '-C', into, ...names], { maxBuffer: 1 << 28 })
    const copy = await other.import(new Uint8Array(packed), { session: `again-${names.length}` })
    expect((await copy.get()).digest).toBe((await session.get()).digest)
  })

  it('is verified by whoever has it and a SHA-256, and by nobody when a bit of it is another', async () => {
    const session = await world()
    await session.erase(['log:1'])
    const { digest } = await session.get()
    const bytes = readFileSync(await saved(session, 'verified.tar'))
    const { root } = await session.snapshots.take('s')
    expect(verifyArchive(bytes)).toMatchObject({ digest, root, commits: 8, erased: 1 })
    const at = bytes.indexOf('"salt":"') + 8
    bytes[at] = (bytes[at] ?? 0) ^ 1
    expect(() => verifyArchive(bytes)).toThrow()
  })

  it('gives the same world on an edge with other secrets, from a file, streamed', async () => {
    const session = await world()
    const { root } = await session.snapshots.take('s')
    const file = await saved(session, 'carried.tar')
    // One stream, of which Node and the runtime each have a type of their own.
    const stream = Readable.toWeb(createReadStream(file)) as unknown as ReadableStream<Uint8Array>
    const copy = await other.import(stream, { session: 'carried' })
    expect((await copy.get()).digest).toBe((await session.get()).digest)
    expect((await copy.snapshots.take('s')).root).toBe(root)
    expect(await copy.verify()).toMatchObject({ ok: true, root })
    expect(await (await copy.files.get('notes/a.txt')).text()).toBe('second\n')
  })

  it('of a file far larger than a request may hold in memory streams from edge to edge', async () => {
    const session = await lares.sessions.create('large')
    const size = 40 * 1024 * 1024
    await session.files.put('film.bin', new Uint8Array(size).fill(7))
    const copy = await other.import(await session.export(), { session: 'large' })
    const file = await copy.files.head('film.bin')
    expect([file.size, file.blob]).toEqual([size, (await session.files.head('film.bin')).blob])
    expect(await copy.verify()).toMatchObject({ ok: true })
  })

  it('is refused by name over the wire, also when most of it is still to come', async () => {
    const session = await lares.sessions.create('taken')
    await session.files.put('film.bin', new Uint8Array(20 * 1024 * 1024).fill(1))
    const bytes = new Uint8Array(readFileSync(await saved(session, 'taken.tar')))
    const refusal = (work: Promise<unknown>) =>
      work.then(
        () => 'taken in',
        (error) => (LaresError.is(error) ? error.code : error),
      )
    expect(await refusal(lares.import(bytes, { session: 'taken' }))).toBe('exists')
    expect(await refusal(other.import(bytes.slice(0, 9_000_000), { session: 'cut' }))).toBe('invalid')
    bytes[10_000_000] = 2
    expect(await refusal(other.import(bytes, { session: 'cut' }))).toBe('digest_mismatch')
    expect(await refusal(other.session('cut').get())).toBe('not_found')
  })
})

describe('an edge that is killed in the middle of an import', () => {
  it('has no session of that name afterwards, and takes the archive again', async () => {
    const session = await lares.sessions.create('killed')
    await session.files.put('film.bin', new Uint8Array(20 * 1024 * 1024).fill(3))
    await session.state.set('a', 1)
    const bytes = new Uint8Array(readFileSync(await saved(session, 'killed.tar')))
    const data = mkdtempSync(join(folder, 'edge-'))
    const first = await startEdge({ data })
    const importing = new Lares({ url: first.url, token: first.key, retry: { tries: 1 } })
    const sent = Promise.withResolvers<void>()
    const halfway = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes.slice(0, bytes.length - 3000))
        sent.resolve()
        // And then nothing: the way there is slow.
      },
    })
    const cut = importing.import(halfway, { session: 'killed' }).catch(() => 'cut')
    await sent.promise
    await new Promise((resolve) => setTimeout(resolve, 300))
    await first.kill9()
    expect(await cut).toBe('cut')
    const second = await startEdge({ data })
    const again = new Lares({ url: second.url, token: second.key })
    await expect(again.session('killed').get()).rejects.toMatchObject({ code: 'not_found' })
    const copy = await again.import(bytes, { session: 'killed' })
    expect(await copy.verify()).toMatchObject({ ok: true })
    expect(await copy.state.get('a')).toBe(1)
    await second.stop()
  })
})
