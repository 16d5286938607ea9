// The SDK and the edge, together: everything the SDK offers, done once for real.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Lares, LaresError, type Session } from '../../src/client/index.ts'
import { type LocalEdge, startLocal } from '../../src/local/index.ts'
import { hurried } from './fake.ts'

let edge: LocalEdge
let lares: Lares
let names = 0

beforeAll(async () => {
  edge = await startLocal()
  lares = new Lares({ url: edge.url, token: edge.key })
})

afterAll(async () => {
  await edge.close()
})

/** For what happens by itself, soon, unless the machine is busy. */
const patient = { timeout: 30_000 }

function fresh(): Promise<Session> {
  return lares.sessions.create(`fresh-${++names}`)
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => new Error('it went through'),
    (reason: unknown) => reason,
  )
  if (!LaresError.is(error)) throw error
  return error.code
}

describe('sessions', () => {
  test('are made once, described, changed and deleted for good', async () => {
    const session = lares.session('made')
    expect(await codeOf(session.get())).toBe('not_found')
    expect(await session.ensure({ title: 'One', labels: { a: '1', b: '2' } })).toMatchObject({
      created: true,
      version: 0,
    })
    expect(await session.ensure({ title: 'Two' })).toMatchObject({ created: false, title: 'One' })
    expect(await codeOf(lares.sessions.create('made'))).toBe('exists')
    const patched = await session.patch({ title: null, labels: { b: null, c: '3' } })
    expect(patched).toMatchObject({ title: null, labels: { a: '1', c: '3' } })
    await session.delete()
    expect(await codeOf(session.get())).toBe('gone')
    expect(await codeOf(session.state.set('k', 1))).toBe('gone')
    expect(await codeOf(session.ensure())).toBe('gone')
  })

  test('get a name when they have none', async () => {
    const session = await lares.sessions.create(undefined, { title: 'nameless' })
    expect(await session.get()).toMatchObject({ session: session.id, title: 'nameless' })
  })

  test('are listed from the catalog, by label and prefix', async () => {
    for (const name of ['list/1', 'list/2'].map((name) => name.replace('/', '-'))) {
      const session = await lares.sessions.create(name, { labels: { 'team x': 'a&b' } })
      await session.log.append({ payload: name })
    }
    const list = lares.sessions.list({ labels: { 'team x': 'a&b' }, prefix: 'list-', order: 'id', limit: 1 })
    // The catalog is fed after the answer; it says how far it is.
    await expect
      .poll(async () => (await list.all()).map((one) => one.projected_version), patient)
      .toEqual([1, 1])
    expect((await list.all()).map((one) => [one.session, one.version])).toEqual([
      ['list-1', 1],
      ['list-2', 1],
    ])
  })
})

describe('the log', () => {
  test('keeps events in order, pages through them both ways, and finds one', async () => {
    const { log } = await fresh()
    const first = await log.append({ payload: { n: 0 } })
    expect(first).toMatchObject({ seq: 1, version: 1, type: 'message', lane: 'main' })
    const many = Array.from({ length: 20 }, (_, n) => ({ type: n % 2 ? 'odd' : 'even', payload: n }))
    const { version, events } = await log.append(many)
    expect(version).toBe(2)
    expect(events.map((event) => event.seq)).toEqual(many.map((_, n) => n + 2))
    const seqs = async (list: AsyncIterable<{ seq: number }>) => {
      const found: number[] = []
      for await (const { seq } of list) found.push(seq)
      return found
    }
    const all = Array.from({ length: 21 }, (_, n) => n + 1)
    expect(await seqs(log.list({ limit: 4 }))).toEqual(all)
    expect(await seqs(log.list({ limit: 4, order: 'desc' }))).toEqual(all.toReversed())
    expect(await seqs(log.list({ limit: 2, type: 'odd', after: 5, before: 12 }))).toEqual([7, 9, 11])
    expect(await log.get<number>(21)).toMatchObject({ seq: 21, payload: 19, type: 'odd' })
    expect(await codeOf(log.get(22))).toBe('not_found')
  })

  test('waits for what is to come, and not longer than asked', async () => {
    const { log } = await fresh()
    const waiting = log.wait({ after: 0, wait: 20 })
    setTimeout(() => void log.append({ payload: 'now' }), 100)
    expect((await waiting).map((event) => event.payload)).toEqual(['now'])
    expect(await log.wait({ after: 1, wait: 1 })).toEqual([])
  })

  test('A12: knows the calls that have no result, and refuses a result without a call', async () => {
    const { log } = await fresh()
    await log.append(
      ['c1', 'c2'].map((id) => ({ type: 'tool_call', payload: { id, name: 'ls', input: {} } })),
    )
    await log.append({ type: 'tool_result', payload: { call_id: 'c1', output: '' } })
    const pending = await log.pending<{ id: string }>().all()
    expect(pending.map((event) => event.payload.id)).toEqual(['c2'])
    expect(await codeOf(log.append({ type: 'tool_result', payload: { call_id: 'c3' } }))).toBe('unknown_call')
  })

  test('has one event a correlation key, and says which', async () => {
    const { log } = await fresh()
    await log.append([{ payload: 'no key' }, { payload: 'yes', key: 'k' }])
    await expect(log.append({ payload: 'yes', key: 'k' })).rejects.toMatchObject({ code: 'exists', seq: 2 })
  })
})

describe('state', () => {
  test('C12: comes back as it was put, and every nothing is told apart', async () => {
    const { state } = await fresh()
    const own = JSON.parse('{"__proto__":{"lc":1},"$ref":"x"}')
    const values = [0, false, '', null, [], {}, own, 'a\u0000b 🚀', 2 ** 53, -0.5, { deep: [[[{}]]] }]
    for (const [n, value] of values.entries()) await state.set(`v/${n}`, value)
    for (const [n, value] of values.entries()) expect(await state.get(`v/${n}`)).toEqual(value)
    expect(await state.get('absent')).toBeUndefined()
    expect(await state.getEntry('v/3')).toMatchObject({
      value: null,
      since: 4,
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
    })
    expect((await state.list({ prefix: 'v/1', limit: 1 }).all()).map((item) => item.key)).toEqual([
      'v/1',
      'v/10',
    ])
  })

  test('F1: keys of any characters are their own', async () => {
    const { state } = await fresh()
    const keys = [
      '',
      'a b',
      'a+b',
      'a%20b',
      'a#b?c&d=e',
      'ä/é',
      'a//b',
      '/a',
      'a/',
      '%2e%2e',
      '\\',
      '"',
      '🏠',
      'a:b@c',
    ]
    for (const key of keys) await state.set(key, key)
    for (const key of keys) expect(await state.get(key)).toBe(key)
    expect(new Set((await state.list().all()).map((item) => item.key))).toEqual(new Set(keys))
  })

  test('whose key a URL cannot say is written and listed, and its reading refused', async () => {
    const { state } = await fresh()
    await state.set('a/../b', 1)
    expect(await state.list({ prefix: 'a/..' }).all()).toEqual([{ key: 'a/../b', value: 1, since: 1 }])
    expect(await codeOf(state.get('a/../b'))).toBe('invalid')
  })

  test('is patched, counted up, guarded and deleted', async () => {
    const { state } = await fresh()
    await state.set('o', { a: 1, b: { c: 2 } })
    await state.patch('o', { a: null, b: { d: 3 } })
    expect(await state.get('o')).toEqual({ b: { c: 2, d: 3 } })
    await state.add('n', 2)
    await state.add('n', -5)
    expect(await state.get('n')).toBe(-3)
    await expect(state.set('o', 1, { if: { absent: true } })).rejects.toMatchObject({
      code: 'condition_failed',
      pointer: '/ops/0',
    })
    const since = (await state.getEntry('o'))?.since
    await state.set('o', 1, { if: { version: since ?? -1 } })
    expect(await codeOf(state.set('o', 2, { if: { version: since ?? -1 } }))).toBe('condition_failed')
    expect(await codeOf(state.set('o', 2, { expect: 1 }))).toBe('version_mismatch')
    await state.delete('o')
    expect(await state.get('o')).toBeUndefined()
  })

  test('C14: a value of 5 MB comes back equal', async () => {
    const { state } = await fresh()
    const value = { text: 'é"\\\n🚀'.repeat(500_000) }
    await state.set('big', value)
    expect(await state.get('big')).toEqual(value)
    expect((await state.list().all())[0]?.value).toEqual(value)
  })

  test('of a session that is not there is an error', async () => {
    expect(await codeOf(lares.session('nobody').state.get('k'))).toBe('not_found')
  })
})

describe('files', () => {
  test('that are texts are of the type that their names say, however they are written', async () => {
    const session = await fresh()
    const { files } = session
    await files.put('note.md', '# one')
    await session.commit((tx) => tx.files.put('data.json', '{}'))
    await files.put('empty', '')
    const types = ['note.md', 'data.json', 'empty'].map(async (path) => (await files.head(path)).type)
    expect(await Promise.all(types)).toEqual([
      'text/markdown; charset=utf-8',
      'application/json',
      'text/plain; charset=utf-8',
    ])
  })

  test('come back byte for byte, whatever they were made of', async () => {
    const { files } = await fresh()
    const bytes = Uint8Array.from({ length: 300_000 }, (_, n) => (n * 31) % 256)
    await files.put('bytes', bytes)
    await files.put('part', bytes.subarray(7, 11))
    await files.put('blob', new Blob([bytes], { type: 'image/png' }))
    await files.put('stream', new Blob([bytes]).stream())
    await files.put('empty', '')
    for (const path of ['bytes', 'blob', 'stream'])
      expect(await (await files.get(path)).bytes()).toEqual(bytes)
    expect(await (await files.get('part')).bytes()).toEqual(bytes.slice(7, 11))
    expect(await (await files.get('empty')).text()).toBe('')
    expect(await files.head('empty')).toMatchObject({ size: 0 })
    expect(await files.head('blob')).toMatchObject({ type: 'image/png', size: 300_000 })
  })

  test('keep their attributes, and say what they are', async () => {
    const { files } = await fresh()
    const attributes = { type: 'text/x-sh', mode: '100755', mtime: '2026-01-02T03:04:05.000Z' } as const
    const put = await files.put('bin/run me.sh', '#!/bin/sh\n', attributes)
    expect(put).toMatchObject({ path: 'bin/run me.sh', size: 10, version: 1, ...attributes })
    expect(await files.head('bin/run me.sh')).toMatchObject({
      ...attributes,
      since: 1,
      version: 1,
      blob: put.blob,
    })
    expect(await files.list().all()).toEqual([
      { path: 'bin/run me.sh', size: 10, blob: put.blob, since: 1, ...attributes },
    ])
  })

  test('are copied, moved, deleted, and listed by folder', async () => {
    const { files } = await fresh()
    for (const path of ['a/1', 'a/2', 'b']) await files.put(path, path)
    await files.copy('b', 'c/d')
    await files.move({ prefix: 'a/' }, 'e/')
    const deleted = await files.delete('b')
    expect(deleted.results).toEqual([{ count: 1 }])
    expect(await files.list({ delimiter: '/', limit: 1 }).all()).toEqual([{ prefix: 'c/' }, { prefix: 'e/' }])
    expect((await files.list({ prefix: 'e/' }).all()).map((file) => file.path)).toEqual(['e/1', 'e/2'])
    expect(await codeOf(files.get('a/1'))).toBe('not_found')
    expect(await codeOf(files.head('a/1'))).toBe('not_found')
    await files.delete({ prefix: '' })
    expect(await files.list().all()).toEqual([])
  })

  test('F3: paths that lead elsewhere are refused before they are sent, or by the edge', async () => {
    const { files } = await fresh()
    for (const path of ['../x', 'a/./b', '..', '/x', '', 'a//b', '..\\x', 'a/']) {
      expect(await codeOf(files.put(path, 'x')), path).toBe('invalid')
    }
  })
})

describe('a commit', () => {
  test('mixes all kinds in one version, and uploads the bytes it names', async () => {
    const session = await fresh()
    const made = await session.commit(
      (tx) => {
        tx.log.append({ payload: 'x' })
        tx.state.set('s', 1)
        tx.files.put('f', 'text', { mode: '100755' })
        tx.files.put('g', new Uint8Array([0, 255]))
        tx.files.copy('f', 'h')
      },
      { message: 'all at once', cause: { run: 'r1' }, expect: 0 },
    )
    expect(made).toMatchObject({ version: 1, results: [{ seq: 1 }, {}, {}, {}, { count: 1 }] })
    expect(await (await session.files.get('g')).bytes()).toEqual(new Uint8Array([0, 255]))
    const full = await session.commits.get(1)
    expect(full).toMatchObject({ message: 'all at once', cause: { run: 'r1' }, digest: made.digest })
    expect(full.ops.map(({ op, ref }) => `${op} ${ref}`)).toEqual([
      'log.append log:1',
      'state.set state:s',
      'file.put file:f',
      'file.put file:g',
      'file.copy file:h',
    ])
    expect(
      (await session.commits.list({ order: 'desc', limit: 1 }).all()).map((commit) => commit.version),
    ).toEqual([1])
  })

  test('is all or nothing', async () => {
    const session = await fresh()
    const bad = session.commit({
      ops: [
        { op: 'state.set', key: 'a', value: 1 },
        { op: 'file.put', path: 'f', blob: '0'.repeat(64) },
      ],
    })
    await expect(bad).rejects.toMatchObject({ code: 'invalid', pointer: '/ops/1/blob' })
    expect(await session.get()).toMatchObject({ version: 0, counts: { state: 0 } })
  })

  test('B1: of two that expect the same version, one is made, and the other is told the head', async () => {
    const session = await fresh()
    const race = [1, 2].map((n) => session.commit((tx) => tx.state.set('winner', n), { expect: 0 }))
    const [won, lost] = (await Promise.allSettled(race)).toSorted((a, b) => a.status.localeCompare(b.status))
    expect(won).toMatchObject({ status: 'fulfilled', value: { version: 1 } })
    expect(lost).toMatchObject({ reason: { code: 'version_mismatch', head: 1 } })
  })

  test('B9: with the same key is answered as the first time; with another body it is refused', async () => {
    const { state } = await fresh()
    const first = await state.set('k', 1, { idempotency_key: 'once' })
    await state.set('k', 2)
    expect(await state.set('k', 1, { idempotency_key: 'once' })).toEqual(first)
    expect(await state.get('k')).toBe(2)
    expect(await codeOf(state.set('k', 3, { idempotency_key: 'once' }))).toBe('idempotency_mismatch')
  })
})

describe('the past', () => {
  test('is read at a version and at a time, and never changes', async () => {
    const session = await fresh()
    const start = new Date(Date.parse((await session.get()).created_at) - 1)
    await session.commit((tx) => {
      tx.state.set('k', 'old')
      tx.files.put('f', 'old')
      tx.log.append({ payload: 'one' })
    })
    const { at } = await session.state.set('between', 1)
    // Times are milliseconds: the next commit must not share one.
    await new Promise((resolve) => setTimeout(resolve, 5))
    await session.commit((tx) => {
      tx.state.delete('k')
      tx.files.put('f', 'new')
      tx.log.append({ payload: 'two' })
    })
    for (const then of [session.at(1), session.at(2), session.at(at), session.at(new Date(at))]) {
      expect(await then.state.get('k')).toBe('old')
      expect(await (await then.files.get('f')).text()).toBe('old')
      expect((await then.log.list().all()).map((event) => event.payload)).toEqual(['one'])
      expect((await then.files.list().all()).map((file) => file.since)).toEqual([1])
    }
    expect(await session.state.get('k')).toBeUndefined()
    expect(await session.at(0).state.list().all()).toEqual([])
    expect(await codeOf(session.at(4).state.get('k'))).toBe('no_such_version')
    expect(await codeOf(session.at('snap:none').state.get('k'))).toMatch(/not_found|no_such_version/)
    expect(await codeOf(session.at(start).state.list().all())).toBe('no_such_version')
  })
})

describe('a lease', () => {
  test('B2: keeps everyone else out, and the past holder too', async () => {
    const session = await fresh()
    const first = await session.lease({ holder: 'first', ttl: 30 })
    await first.session.state.set('k', 1)
    await expect(session.state.set('k', 2)).rejects.toMatchObject({ code: 'fenced', epoch: first.epoch })
    await expect(session.lease({ holder: 'second', ttl: 30 })).rejects.toMatchObject({ code: 'leased' })
    await session.log.append({ payload: 'from outside', lane: 'inbox' })

    const second = await session.lease({ holder: 'second', ttl: 30, steal: true })
    expect(second.epoch).toBeGreaterThan(first.epoch)
    const late = [
      first.session.state.set('k', 3),
      first.session.log.append({ payload: 'x' }),
      first.session.files.put('f', 'x'),
      first.session.commit((tx) => tx.files.put('f', 'x')),
      first.renew(),
    ]
    expect(await Promise.all(late.map(codeOf))).toEqual(late.map(() => 'fenced'))
    await first.release()
    await second.session.state.set('k', 4)
    await second.renew(60)
    expect(Date.parse(second.expires_at)).toBeGreaterThan(Date.now() + 50_000)
    await second.release()
    await session.state.set('k', 5)
    expect(await codeOf(second.session.state.set('k', 6))).toBe('fenced')
    expect(await session.state.get('k')).toBe(5)
  })

  test('B4: kept alive outlasts its term, and its loss is told', async () => {
    const session = await fresh()
    const lease = await session.lease({ holder: 'h', ttl: 3 })
    lease.keepAlive()
    await new Promise((resolve) => setTimeout(resolve, 4_000))
    await lease.session.state.set('k', 1)
    const thief = await session.lease({ holder: 't', ttl: 30, steal: true })
    await expect.poll(() => lease.lost.aborted, patient).toBe(true)
    expect(lease.lost.reason).toMatchObject({ code: 'fenced', epoch: thief.epoch })
  })

  test('can be handed on as its token', async () => {
    const session = await fresh()
    await using lease = await session.lease({ holder: 'h', ttl: 30 })
    await lares.session(session.id).withLease(lease.token).state.set('k', 1)
    expect(await codeOf(lares.session(session.id).withLease('made up').state.set('k', 2))).toBe('fenced')
  })
})

test('a wrong key is named as such, an unreachable edge too', async () => {
  const stranger = new Lares({ url: edge.url, token: 'wrong' })
  await expect(stranger.session('s').get()).rejects.toMatchObject({
    code: 'unauthenticated',
    family: 'access',
  })
  const nowhere = new Lares({ url: 'http://127.0.0.1:9', token: 'k', retry: { ...hurried, tries: 2 } })
  await expect(nowhere.session('s').get()).rejects.toMatchObject({ name: 'NetworkError', tries: 2 })
})
