// Several writers at once: conditions, leases, retries. What one is told must be true whatever the others do.

import { abortAllDurableObjects, evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ask, freshId, mint, newSession, sha256Hex, type TestSession } from './support.ts'

const event = (payload: unknown) => ({ op: 'log.append', payload })

describe('two writers', () => {
  it('who expect the same version: exactly one wins, 1,000 times', { timeout: 300_000 }, async () => {
    const session = await newSession()
    for (let round = 0; round < 1000; round++) {
      const answers = await Promise.all(
        [0, 1].map((who) => session.commit([event([round, who])], { expect: round })),
      )
      const statuses = answers.map(({ status }) => status).sort()
      if (statuses.join() !== '201,412') throw new Error(`round ${round}: ${statuses.join()}`)
      const lost = answers.find(({ status }) => status === 412)
      expect([lost?.body.code, lost?.body.head]).toEqual(['version_mismatch', round + 1])
    }
    const log = await session.all('/log', 1000)
    expect(log.map(({ payload }) => payload[0])).toEqual(Array.from({ length: 1000 }, (_, i) => i))
  })

  it('fifty who each want to be first: one is', async () => {
    const session = await newSession()
    const racers = Array.from({ length: 50 }, (_, who) =>
      session.commit([{ op: 'state.set', key: 'first', value: who, if: { absent: true } }, event(who)]),
    )
    const answers = await Promise.all(racers)
    const won = answers.flatMap(({ status }, who) => (status === 201 ? [who] : []))
    expect(won).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(49)
    expect(answers.find(({ status }) => status === 412)?.body).toMatchObject({
      code: 'condition_failed',
      pointer: '/ops/0',
      head: 1,
    })
    expect(await session.get('/state/first')).toBe(won[0])
    expect((await session.get()).counts.events).toBe(1)
  })

  it('fifty who each put the same file if it is absent: one does, and a file is what one of them sent', async () => {
    const session = await newSession()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, who) =>
        session.ask('PUT', '/files/f', { raw: `content of ${who}`, headers: { 'if-none-match': '*' } }),
      ),
    )
    const won = answers.flatMap(({ status }, who) => (status === 201 ? [who] : []))
    expect(won).toHaveLength(1)
    expect((await session.ask('GET', '/files/f')).text).toBe(`content of ${won[0]}`)
  })

  it('who replace what they read: no update is lost', async () => {
    const session = await newSession()
    await session.ask('PUT', '/state/n', { json: 0 })
    const increment = async () => {
      for (;;) {
        const read = await session.ask('GET', '/state/n')
        const etag = read.headers.get('etag') ?? ''
        const written = await session.ask('PUT', '/state/n', {
          json: read.body + 1,
          headers: { 'if-match': etag },
        })
        if (written.status === 200) return
        expect(written.body.code).toBe('condition_failed')
      }
    }
    await Promise.all(Array.from({ length: 8 }, increment))
    expect(await session.get('/state/n')).toBe(8)
  })

  it('a condition speaks of the world before the commit, and one that fails undoes all of it', async () => {
    const session = await newSession()
    const both = await session.commit([
      { op: 'state.set', key: 'a', value: 1, if: { absent: true } },
      { op: 'state.set', key: 'a', value: 2, if: { absent: true } },
    ])
    expect(both.status).toBe(201)
    const before = await session.seen()
    const late = await session.commit([
      event('x'),
      { op: 'state.delete', key: 'a' },
      { op: 'state.add', key: 'b', by: 1, if: { version: 9 } },
    ])
    expect([late.status, late.body.pointer]).toEqual([412, '/ops/2'])
    const midway = await session.commit([
      event('x'),
      { op: 'state.set', key: 'a', value: 'text' },
      { op: 'state.add', key: 'a', by: 1 },
    ])
    expect([midway.status, midway.body.pointer]).toEqual([422, '/ops/2/key'])
    expect(await session.seen()).toEqual(before)
    // What was cached of the head is as before too.
    expect(await session.wrote([event('y')])).toBe(2)
    expect((await session.all('/log')).map(({ seq }) => seq)).toEqual([1])
  })

  it('a copy of a folder into itself copies what was there, not its own copies', async () => {
    const session = await newSession()
    const blob = await session.putBlob('x')
    const other = await session.putBlob('other')
    await session.wrote([
      { op: 'file.put', path: 'a', blob },
      { op: 'file.put', path: 'ab', blob: other },
    ])
    await session.wrote([{ op: 'file.copy', prefix: 'a', to: 'ab' }])
    const files = await session.all('/files')
    expect(files.map(({ path, blob: one }) => [path, one])).toEqual([
      ['a', blob],
      ['ab', blob],
      ['abb', other],
    ])
  })
})

describe('a lease', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  const stale = async (session: TestSession, token: string | undefined, code: string) => {
    const headers: Record<string, string> = token === undefined ? {} : { 'lares-lease': token }
    const blob = await sha256Hex('x')
    const doors: [string, string, { json?: unknown; raw?: string }][] = [
      ['POST', '/commits', { json: { ops: [event('x')] } }],
      ['POST', '/commits', { json: { ops: [{ ...event('x'), lane: 'inbox' }, event('y')] } }],
      ['POST', '/log', { json: { payload: 'x' } }],
      ['POST', '/log', { json: { events: [{ payload: 'x', lane: 'inbox' }, { payload: 'x' }] } }],
      ['PUT', '/state/k', { json: 1 }],
      ['PATCH', '/state/k', { json: {} }],
      ['DELETE', '/state/k', {}],
      ['PUT', '/files/f', { raw: 'x' }],
      ['DELETE', '/files/f', {}],
      ['PATCH', '', { json: { title: 'stolen' } }],
      ['PUT', `/blobs/${blob}`, { raw: 'x' }],
    ]
    const before = await session.seen()
    for (const [method, path, asked] of doors) {
      const answer = await session.ask(method, path, { ...asked, headers })
      expect([method, path, answer.status, answer.body?.code]).toEqual([method, path, 409, code])
    }
    expect(await session.seen()).toEqual(before)
  }

  it('is exclusive: whoever shows no token, or another, writes nothing by any door', async () => {
    const session = await newSession()
    await session.ask('PUT', '/state/k', { json: {} })
    await session.ask('PUT', '/files/f', { raw: 'f' })
    const token = await session.lease()
    await stale(session, undefined, 'fenced')
    await stale(session, `1.${'A'.repeat(32)}`, 'fenced')
    await stale(session, 'x', 'fenced')
    await stale(session, '', 'fenced')
    expect((await session.say('mine', {}, { 'lares-lease': token })).status).toBe(201)
  })

  it('tells whom it refuses the epoch, and who holds it', async () => {
    const session = await newSession()
    await session.lease(60, 'me')
    const fenced = await session.say('x')
    expect(fenced.body).toMatchObject({ code: 'fenced', epoch: 1, head: 0 })
    const second = await session.ask('POST', '/lease', { json: { holder: 'you', ttl: 5 } })
    expect([second.status, second.body.code, second.body.epoch]).toEqual([409, 'leased', 1])
    expect((await session.get()).lease).toMatchObject({ holder: 'me', epoch: 1 })
  })

  it('can be stolen only with the scope lease; the robbed writes nothing more by any door', async () => {
    const session = await newSession()
    const { token: writer } = await mint({ session: session.id }, ['read', 'write'])
    const { token: thief } = await mint({ session: session.id }, ['read', 'write', 'lease'])
    await session.ask('PUT', '/state/k', { json: {} })
    await session.ask('PUT', '/files/f', { raw: 'f' })
    const first = await session.by(writer).lease(3600, 'first')
    const steal = { json: { holder: 'thief', ttl: 60, steal: true } }
    expect((await session.by(writer).ask('POST', '/lease', steal)).status).toBe(403)
    const stolen = await session.by(thief).ask('POST', '/lease', steal)
    expect([stolen.status, stolen.body.epoch]).toEqual([201, 2])
    await stale(session, first, 'fenced')
    for (const method of ['PUT', 'DELETE']) {
      const answer = await session.ask(method, '/lease', { headers: { 'lares-lease': first } })
      expect([answer.status, answer.body.code, answer.body.epoch]).toEqual([409, 'fenced', 2])
    }
    expect((await session.say('x', {}, { 'lares-lease': stolen.body.token })).status).toBe(201)
  })

  it('leaves the inbox open to an outsider who may append, and to nobody with a stale token', async () => {
    const session = await newSession()
    const { token: outsider } = await mint({ session: session.id }, ['append'])
    await session.lease()
    expect((await session.by(outsider).say('hello', { lane: 'inbox' })).status).toBe(201)
    expect((await session.by(outsider).say('hello')).status).toBe(409)
    expect((await session.say('x', { lane: 'inbox' }, { 'lares-lease': 'stale' })).status).toBe(409)
    expect((await session.all('/log')).map(({ lane }) => lane)).toEqual(['inbox'])
  })

  it('ends with its term; its token is stale from then on, also when nobody has come since', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    const session = await newSession()
    await session.ask('PUT', '/state/k', { json: {} })
    await session.ask('PUT', '/files/f', { raw: 'f' })
    const token = await session.lease(10)
    vi.setSystemTime(Date.now() + 9_000)
    expect((await session.say('in time', {}, { 'lares-lease': token })).status).toBe(201)
    // That write began a new term.
    vi.setSystemTime(Date.now() + 9_000)
    expect((await session.say('kept alive by writing', {}, { 'lares-lease': token })).status).toBe(201)
    expect(
      (await session.ask('PATCH', '', { json: { title: 't' }, headers: { 'lares-lease': token } })).status,
    ).toBe(200)
    vi.setSystemTime(Date.now() + 11_000)
    await stale(session, token, 'fenced')
    expect((await session.get()).lease).toBeNull()
    expect(
      (await session.ask('PUT', '/lease', { json: { ttl: 5 }, headers: { 'lares-lease': token } })).status,
    ).toBe(409)
    expect((await session.say('free again')).status).toBe(201)
    expect((await session.ask('POST', '/lease', { json: { holder: 'next', ttl: 5 } })).body.epoch).toBe(2)
    await stale(session, token, 'fenced')
  })

  it('is renewed by every write of its holder, a change of the session among them', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    const session = await newSession()
    const token = await session.lease(10)
    const headers = { 'lares-lease': token }
    for (const write of [
      () => session.say('x', {}, headers),
      () => session.ask('PATCH', '', { json: { title: 'x' }, headers }),
      () => session.ask('PUT', '/state/k', { json: 1, headers }),
      () => session.ask('PUT', '/files/f', { raw: 'f', headers }),
      () => session.ask('PATCH', '', { json: { title: 'y' }, headers }),
    ]) {
      vi.setSystemTime(Date.now() + 8_000)
      expect((await write()).status).toBeLessThan(300)
    }
    vi.setSystemTime(Date.now() + 8_000)
    expect((await session.ask('POST', '/lease', { json: { holder: 'other', ttl: 5 } })).status).toBe(409)
  })

  it('can be shortened by renewing and given back; what was given back is stale', async () => {
    const session = await newSession()
    await session.ask('PUT', '/state/k', { json: {} })
    await session.ask('PUT', '/files/f', { raw: 'f' })
    const token = await session.lease(3600)
    const renewed = await session.ask('PUT', '/lease', {
      json: { ttl: 1 },
      headers: { 'lares-lease': token },
    })
    expect([renewed.status, renewed.body.epoch, renewed.body.token]).toEqual([200, 1, token])
    expect(Date.parse(renewed.body.expires_at) - Date.now()).toBeLessThan(2_000)
    expect((await session.ask('DELETE', '/lease', { headers: { 'lares-lease': token } })).status).toBe(204)
    await stale(session, token, 'fenced')
    expect((await session.ask('DELETE', '/lease', { headers: { 'lares-lease': token } })).status).toBe(409)
    expect((await session.ask('POST', '/lease', { json: { holder: 'n', ttl: 5 } })).body.epoch).toBe(2)
  })

  it('outlives its object’s death', async () => {
    const session = await newSession()
    const token = await session.lease()
    await session.say('x', {}, { 'lares-lease': token })
    await abortAllDurableObjects()
    expect((await session.say('x')).body.code).toBe('fenced')
    expect((await session.say('x', {}, { 'lares-lease': token })).status).toBe(201)
  })

  it('fifty who want it at once: one gets it', async () => {
    const session = await newSession()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        session.ask('POST', '/lease', { json: { holder: `h${i}`, ttl: 60 } }),
      ),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(answers.filter(({ status, body }) => status === 409 && body.code === 'leased')).toHaveLength(49)
  })

  it('keeps its token to its holder: nothing shows it, and the object holds no more than its digest', async () => {
    const session = await newSession()
    const token = await session.lease()
    expect(JSON.stringify(await session.get())).not.toContain(token)
    const stored = await runInDurableObject(session.stub(), (_, state) =>
      JSON.stringify(state.storage.sql.exec('SELECT * FROM meta').toArray()),
    )
    expect(stored).not.toContain(token)
  })
})

describe('an idempotency key', () => {
  const once = (key: string) => ({ 'idempotency-key': key })

  const writes: [
    string,
    (session: TestSession, key: string, what?: string) => ReturnType<TestSession['ask']>,
  ][] = [
    ['POST commits', (s, key, what = 'a') => s.commit([event(what)], {}, once(key))],
    ['POST log', (s, key, what = 'a') => s.say(what, {}, once(key))],
    ['PUT state', (s, key, what = 'a') => s.ask('PUT', '/state/k', { json: what, headers: once(key) })],
    [
      'PATCH state',
      (s, key, what = 'a') => s.ask('PATCH', '/state/p', { json: { what }, headers: once(key) }),
    ],
    ['PUT files', (s, key, what = 'a') => s.ask('PUT', '/files/f', { raw: what, headers: once(key) })],
    [
      'PATCH session',
      (s, key, what = 'a') => s.ask('PATCH', '', { json: { title: what }, headers: once(key) }),
    ],
  ]

  it.each(writes)(
    '%s answers word for word, does it once, also after its object died; another body is 422',
    async (_, write) => {
      const session = await newSession()
      const first = await write(session, 'key')
      expect(first.status).toBeLessThan(300)
      await session.wrote([event('in between')])
      const head = (await session.get()).version
      const again = [await write(session, 'key')]
      await evictDurableObject(session.stub()).catch(() => {})
      again.push(await write(session, 'key'))
      await abortAllDurableObjects()
      again.push(...(await Promise.all([write(session, 'key'), write(session, 'key')])))
      for (const answer of again) {
        expect([answer.status, answer.text]).toEqual([first.status, first.text])
        expect(answer.headers.get('lares-version')).toBe(first.headers.get('lares-version'))
      }
      const other = await write(session, 'key', 'b')
      expect([other.status, other.body.code]).toEqual([422, 'idempotency_mismatch'])
      expect((await session.get()).version).toBe(head)
      expect((await write(session, 'another', 'b')).status).toBeLessThan(300)
    },
  )

  it('is a key of its route: the same one elsewhere is another', async () => {
    const session = await newSession()
    for (const [, write] of writes) expect((await write(session, 'shared')).status).toBeLessThan(300)
    expect((await session.ask('PUT', '/state/k2', { json: 'a', headers: once('shared') })).status).toBe(201)
    const elsewhere = await newSession()
    expect((await elsewhere.say('a', {}, once('shared'))).body.version).toBe(1)
  })

  it('twenty at once with one key: one write, twenty equal answers', async () => {
    const session = await newSession()
    const answers = await Promise.all(Array.from({ length: 20 }, () => session.say('x', {}, once('k'))))
    expect(new Set(answers.map(({ status, text }) => `${status}${text}`)).size).toBe(1)
    expect((await session.get()).version).toBe(1)
  })

  it('remembers no refusal: what was refused may be right the next time', async () => {
    const session = await newSession()
    const write = () => session.commit([event('x')], { expect: 1 }, once('k'))
    expect((await write()).status).toBe(412)
    await session.say('now')
    expect((await write()).status).toBe(201)
    expect((await write()).body.version).toBe(2)
  })

  it('of a made session gives 201 again, and POST finds the one it made', async () => {
    const id = freshId()
    const make = () => ask('PUT', `/v1/sessions/${id}`, { json: { title: 't' }, headers: once('k') })
    const first = await make()
    expect([first.status, await make()].map((a) => (typeof a === 'number' ? a : [a.status, a.text]))).toEqual(
      [201, [201, first.text]],
    )
    const other = await ask('PUT', `/v1/sessions/${id}`, { json: { title: 'u' }, headers: once('k') })
    expect(other.body.code).toBe('idempotency_mismatch')
    const key = crypto.randomUUID()
    const post = () => ask('POST', '/v1/sessions', { json: {}, headers: once(key) })
    const [a, b] = [await post(), await post()]
    expect([a.status, b.status, a.body.session]).toEqual([201, 201, b.body.session])
  })

  it('of a lease gives the same lease again', async () => {
    const session = await newSession()
    const acquire = () =>
      session.ask('POST', '/lease', { json: { holder: 'h', ttl: 60 }, headers: once('k') })
    const first = await acquire()
    expect((await acquire()).text).toBe(first.text)
    expect((await session.get()).lease.epoch).toBe(1)
  })

  it('is checked after the lease: a robbed holder’s retry is fenced', async () => {
    const session = await newSession()
    const token = await session.lease()
    const headers = { ...once('k'), 'lares-lease': token }
    expect((await session.say('x', {}, headers)).status).toBe(201)
    await session.lease(60, 'thief', true)
    expect((await session.say('x', {}, headers)).body.code).toBe('fenced')
  })

  it.each(['', 'x'.repeat(256)])('%j is none', async (key) => {
    const session = await newSession()
    const answer = await session.say('x', {}, once(key))
    expect([answer.status, answer.body.code, answer.body.pointer]).toEqual([
      422,
      'invalid',
      'Idempotency-Key',
    ])
  })
})
