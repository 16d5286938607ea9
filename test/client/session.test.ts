import { describe, expect, test, vi } from 'vitest'
import { LaresError } from '../../src/client/index.ts'
import { chunks, fake, json, problem } from './fake.ts'

const done = { version: 3, at: '2026-12-01T00:00:00.000Z', digest: 'd', results: [] }
const hello = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'

describe('a commit', () => {
  test('carries its operations in the order they were made, and its conditions', async () => {
    const { lares, asked } = fake([json(done, 201)])
    const made = await lares.session('s').commit(
      async (tx) => {
        tx.log.append({ payload: 'hi' })
        tx.log.append([
          { type: 'a', payload: 0 },
          { type: 'b', payload: null, key: 'k' },
        ])
        tx.state.set('plan', { x: 1 }, { if: { absent: true }, from: ['log:1'] })
        tx.state.patch('plan', { x: null })
        tx.state.add('n', 2)
        tx.state.delete('old', { if: { version: 2 } })
        tx.files.put({ path: 'a', blob: hello, mode: '100755' })
        tx.files.copy('a', 'b')
        tx.files.move({ prefix: 'x/' }, 'y/')
        tx.files.delete('b')
        tx.add({ op: 'state.set', key: '..', value: false })
      },
      { message: 'm', cause: { run: 7 }, expect: 2 },
    )
    expect(made).toEqual(done)
    expect(asked[0]).toMatchObject({ method: 'POST', path: '/v1/sessions/s/commits' })
    expect(asked[0]?.json).toEqual({
      ops: [
        { op: 'log.append', payload: 'hi' },
        { op: 'log.append', type: 'a', payload: 0 },
        { op: 'log.append', type: 'b', payload: null, key: 'k' },
        { op: 'state.set', key: 'plan', value: { x: 1 }, if: { absent: true }, from: ['log:1'] },
        { op: 'state.patch', key: 'plan', patch: { x: null } },
        { op: 'state.add', key: 'n', by: 2 },
        { op: 'state.delete', key: 'old', if: { version: 2 } },
        { op: 'file.put', path: 'a', blob: hello, mode: '100755' },
        { op: 'file.copy', path: 'a', to: 'b' },
        { op: 'file.move', prefix: 'x/', to: 'y/' },
        { op: 'file.delete', path: 'b' },
        { op: 'state.set', key: '..', value: false },
      ],
      message: 'm',
      cause: { run: 7 },
      expect: 2,
    })
  })

  test('puts the bytes of its files in the store first, under their SHA-256', async () => {
    const { lares, asked } = fake([json({}, 201), json(done, 201)])
    await lares.session('s').commit((tx) => tx.files.put('h', 'hello', { mtime: new Date(0) }))
    expect(asked[0]).toMatchObject({ method: 'PUT', path: `/v1/sessions/s/blobs/${hello}`, text: 'hello' })
    expect(asked[1]?.json).toEqual({
      ops: [
        {
          op: 'file.put',
          path: 'h',
          mtime: '1970-01-01T00:00:00.000Z',
          blob: hello,
        },
      ],
    })
  })

  test('whose callback throws sends nothing', async () => {
    const { lares, asked } = fake([])
    const bad = lares.session('s').commit((tx) => {
      tx.files.put('h', 'hello')
      throw new Error('changed my mind')
    })
    await expect(bad).rejects.toThrow('changed my mind')
    expect(asked).toHaveLength(0)
  })

  test('refused, tells what is needed to go on', async () => {
    const { lares } = fake([problem(412, 'version_mismatch', { head: 9 }, { 'lares-request-id': 'r1' })])
    const error = await lares
      .session('s')
      .commit({ ops: [{ op: 'state.delete', key: 'k' }] }, { expect: 8 })
      .catch((e) => e)
    expect(LaresError.is(error, 'version_mismatch')).toBe(true)
    expect(LaresError.is(error, 'fenced')).toBe(false)
    expect(error).toMatchObject({
      head: 9,
      family: 'condition',
      request_id: 'r1',
      detail: 'it is version_mismatch',
    })
  })
})

describe('state', () => {
  test('C12: absent is undefined, and every other nothing is itself', async () => {
    for (const value of [0, false, '', null, [], {}]) {
      const { lares } = fake([json(value, 200, { 'lares-since': '4', etag: '"e"' })])
      expect(await lares.session('s').state.getEntry('k')).toEqual({ value, since: 4, etag: '"e"' })
    }
    const { lares } = fake([problem(404, 'not_found', {}, { 'lares-version': '7' })])
    expect(await lares.session('s').state.get('k')).toBeUndefined()
  })

  test('of a session that is not there is an error, not an absent value', async () => {
    const { lares } = fake([problem(404, 'not_found')])
    await expect(lares.session('s').state.get('k')).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('a list', () => {
  test('goes through all pages, and can be begun anywhere', async () => {
    const pages = () => [
      json({ items: [1, 2], next: 'c1' }, 200, { 'lares-version': '5' }),
      json({ items: [], next: 'c2' }),
      json({ items: [3], next: null }),
    ]
    const { lares, asked } = fake([...pages(), ...pages().slice(2)])
    const list = lares.session('s').state.list({ prefix: 'p/', limit: 2 })
    expect(await list.all()).toEqual([1, 2, 3])
    expect(asked.map((one) => one.query)).toEqual([
      { prefix: 'p/', limit: '2' },
      { prefix: 'p/', limit: '2', cursor: 'c1' },
      { prefix: 'p/', limit: '2', cursor: 'c2' },
    ])
    expect(await list.page('c2')).toEqual({ items: [3], next: null, version: undefined })
  })

  test('of sessions is filtered by labels', async () => {
    const { lares, asked } = fake([json({ items: [], next: null })])
    await lares.sessions.list({ labels: { team: 'a b' }, prefix: 'x', updated_after: new Date(0) }).all()
    expect(asked[0]?.query).toEqual({
      'label.team': 'a b',
      prefix: 'x',
      updated_after: '1970-01-01T00:00:00.000Z',
    })
  })
})

describe('a lease', () => {
  const grant = { epoch: 2, token: 'tok', expires_at: '2026-12-01T00:00:30.000Z' }

  test('is sent with every write of its session, and with no other', async () => {
    const { lares, asked } = fake([
      json(grant, 201),
      json(done),
      json({}, 201),
      json(done),
      json(done),
      new Response(null, { status: 204 }),
    ])
    const session = lares.session('s')
    const lease = await session.lease({ holder: 'h', ttl: 30 })
    expect(lease).toMatchObject({ epoch: 2, token: 'tok', expires_at: grant.expires_at })
    expect(asked[0]?.json).toEqual({ holder: 'h', ttl: 30 })
    await lease.session.state.set('k', 1)
    await lease.session.commit((tx) => tx.files.put('h', 'hello'))
    await session.state.set('k', 1)
    await lease.release()
    expect(asked.map((one) => one.headers.get('lares-lease'))).toEqual([
      null,
      'tok',
      'tok',
      'tok',
      null,
      'tok',
    ])
  })

  test('kept alive is renewed until it is lost, and says so', async () => {
    vi.useFakeTimers()
    try {
      const later = { ...grant, expires_at: '2026-12-01T00:01:00.000Z' }
      const { lares, asked } = fake([json(grant, 201), json(later), problem(409, 'fenced', { epoch: 3 })])
      const lease = await lares.session('s').lease({ holder: 'h', ttl: 30 })
      lease.keepAlive()
      await vi.advanceTimersByTimeAsync(10_000)
      expect(asked).toHaveLength(2)
      expect(lease.expires_at).toBe(later.expires_at)
      await vi.advanceTimersByTimeAsync(10_000)
      expect(lease.lost.aborted).toBe(true)
      expect(lease.lost.reason).toMatchObject({ code: 'fenced', epoch: 3 })
      await vi.advanceTimersByTimeAsync(60_000)
      expect(asked).toHaveLength(3)
    } finally {
      vi.useRealTimers()
    }
  })

  test('is given back at the end of its block, even when it was lost', async () => {
    const { lares, asked } = fake([json(grant, 201), problem(409, 'fenced')])
    {
      await using _lease = await lares.session('s').lease({ holder: 'h', ttl: 30 })
    }
    expect(asked[1]).toMatchObject({ method: 'DELETE', path: '/v1/sessions/s/lease' })
  })
})

describe('a file', () => {
  test('is sent as bytes with its attributes and its digest', async () => {
    const put = { path: 'a b', version: 1 }
    const { lares, asked } = fake([json(put, 201), json(put), json(put)])
    const { files } = lares.session('s')
    await files.put('a b', 'hello', { mode: '100755', mtime: '2026-01-01T00:00:00Z' })
    await files.put('a', chunks(['he', 'llo']))
    await files.put('a', new Blob(['hello'], { type: 'image/png' }))
    expect(asked.map((one) => one.text)).toEqual(['hello', 'hello', 'hello'])
    expect(asked[0]?.path).toBe('/v1/sessions/s/files/a%20b')
    expect(Object.fromEntries(asked[0]?.headers ?? [])).toMatchObject({
      'content-digest': 'sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:',
      'lares-mode': '100755',
      'lares-mtime': '2026-01-01T00:00:00Z',
    })
    // The edge makes a type of bytes and name where none is told, and a text tells none.
    expect(asked.map((one) => one.headers.get('content-type'))).toEqual([null, null, 'image/png'])
  })

  test('is read as bytes, text or stream, with what its headers say', async () => {
    const headers = {
      'content-type': 'text/x',
      'lares-mode': '100755',
      'lares-since': '2',
      'lares-version': '5',
      etag: '"e"',
    }
    const answer = () => new Response('h\u00e9', { headers })
    const { lares } = fake([answer(), answer(), answer()])
    const { files } = lares.session('s')
    const file = await files.get('f')
    expect(file).toMatchObject({
      path: 'f',
      type: 'text/x',
      mode: '100755',
      since: 2,
      version: 5,
      mtime: null,
      etag: '"e"',
    })
    expect(await file.text()).toBe('h\u00e9')
    expect(await (await files.get('f')).bytes()).toEqual(new TextEncoder().encode('h\u00e9'))
    expect(await new Response((await files.get('f')).stream()).text()).toBe('h\u00e9')
  })
})

test('a session that is there is not created again', async () => {
  const { lares } = fake([json({ session: 's', version: 3 }, 200), json({ session: 's', version: 3 }, 200)])
  expect(await lares.session('s').ensure()).toEqual({ session: 's', version: 3, created: false })
  await expect(lares.sessions.create('s')).rejects.toMatchObject({ code: 'exists' })
})

test('an event that is appended alone is answered alone', async () => {
  const event = { seq: 1, version: 1 }
  const { lares, asked } = fake([
    json({ version: 1, events: [event] }, 201),
    json({ version: 1, events: [event] }, 201),
  ])
  const { log } = lares.session('s')
  expect(await log.append({ payload: 'x' })).toEqual(event)
  expect(await log.append([{ payload: 'x' }])).toEqual({ version: 1, events: [event] })
  expect(asked[1]?.json).toEqual({ events: [{ payload: 'x' }] })
})

test('an answer that is no problem document is named by its status', async () => {
  const { lares } = fake([new Response('<html>', { status: 404 }), new Response(null, { status: 410 })])
  await expect(lares.session('s').get()).rejects.toMatchObject({ code: 'not_found', family: 'missing' })
  await expect(lares.session('s').files.head('f')).rejects.toMatchObject({ code: 'gone' })
})
