// Cases I: nobody sees or touches what is not theirs, by any door.

import { expect, it } from 'vitest'
import { ask, freshId, type Loose, mint, newSession, rootKey, TestSession } from '../spine/support.ts'

async function newFleet(): Promise<{ fleet: string; key: string }> {
  const fleet = freshId('f').toLowerCase()
  await ask('PUT', `/v1/fleets/${fleet}`)
  const made = await ask('POST', `/v1/fleets/${fleet}/keys`, { json: {} })
  return { fleet, key: made.body.key }
}

it('I1 a pattern or a prefix never takes in its siblings', async () => {
  const family = freshId('acme')
  const names = [`${family}.x`, `${family}-corp`, `${family}`, `${family.replace('acme', 'a_me')}`]
  for (const name of names) expect((await ask('PUT', `/v1/sessions/${name}`)).status).toBe(201)
  const { token } = await mint({ pattern: `${family}.*` }, ['read', 'write'])
  const seen = await Promise.all(
    names.map(async (name) => (await ask('GET', `/v1/sessions/${name}`, { token })).status),
  )
  expect(seen).toEqual([200, 404, 404, 404])

  const session = await newSession()
  const keys = ['acme', 'acme-corp', 'acme/1', 'a_me/1', '%/1', 'acm', 'acme/2']
  await session.wrote(keys.map((key) => ({ op: 'state.set', key, value: 1 })))
  const under = async (prefix: string) =>
    (await session.all(`/state?prefix=${encodeURIComponent(prefix)}`)).map(({ key }: Loose) => key)
  expect(await under('acme/')).toEqual(['acme/1', 'acme/2'])
  expect(await under('a_me')).toEqual(['a_me/1'])
  expect(await under('%')).toEqual(['%/1'])
  expect(await under('')).toHaveLength(keys.length)
})

it('I1 a folder’s token reads, writes, moves and lists in its folder alone', async () => {
  const session = await newSession()
  const { token } = await mint({ session: session.id }, ['files:docs'])
  const holder = session.by(token)
  for (const path of ['docs/a', 'docs2/a', 'doc', 'docs.txt', 'x/docs/a'])
    await session.ask('PUT', `/files/${path}`, { raw: path })
  const read = async (path: string) => (await holder.ask('GET', `/files/${path}`)).status
  expect(await Promise.all(['docs/a', 'docs2/a', 'doc', 'docs.txt', 'x/docs/a'].map(read))).toEqual([
    200, 404, 404, 404, 404,
  ])
  expect((await holder.all('/files')).map(({ path }: Loose) => path)).toEqual(['docs/a'])
  expect((await holder.all('/files?delimiter=/', 1)).map(({ prefix }: Loose) => prefix)).toEqual(['docs/'])
  for (const path of ['docs2/b', 'doc', 'docs%2F..%2Fx', 'docs.txt']) {
    expect((await holder.ask('PUT', `/files/${path}`, { raw: 'x' })).status).toBeGreaterThanOrEqual(400)
  }
  for (const op of [
    { op: 'file.copy', path: 'docs2/a', to: 'docs/stolen' },
    { op: 'file.copy', path: 'docs/a', to: 'docs2/b' },
    { op: 'file.copy', prefix: 'docs', to: 'docs/all' },
    { op: 'file.move', prefix: 'docs/', to: 'docs' },
    { op: 'file.copy', prefix: '', to: 'docs/' },
    { op: 'file.delete', prefix: 'docs' },
    { op: 'file.delete', prefix: '' },
    { op: 'state.set', key: 'docs/x', value: 1 },
    { op: 'log.append', payload: 1 },
  ]) {
    expect([op, (await holder.commit([op])).status]).toEqual([op, 403])
  }
  expect((await holder.commit([{ op: 'file.copy', prefix: 'docs/', to: 'docs/copy/' }])).status).toBe(201)
  for (const path of ['/log', '/state', '/commits', '/tail', ''])
    expect((await holder.ask('GET', path)).status).toBe(403)
  expect((await session.all('/files')).map(({ path }: Loose) => path)).toEqual([
    'doc',
    'docs.txt',
    'docs/a',
    'docs/copy/a',
    'docs2/a',
    'x/docs/a',
  ])
})

it('I2 a token is for a session or a pattern, never for nobody and so for everybody', async () => {
  for (const subject of [
    {},
    { session: '' },
    { pattern: '' },
    { session: null },
    { session: 'a', pattern: 'a' },
  ]) {
    const made = await ask('POST', '/v1/tokens', { json: { ...subject, scopes: ['read'], expires_in: 60 } })
    expect([subject, made.status, made.body.code]).toEqual([subject, 422, 'invalid'])
  }
})

it('I3 an id is no password: another’s session is not there, by any door', async () => {
  const session = await newSession()
  await session.say('secret')
  const other = await mint({ session: 'other' }, ['read', 'write', 'append', 'lease', 'admin', 'files:'])
  const { key } = await newFleet()
  for (const token of [other.token, key]) {
    const thief = session.by(token)
    for (const [method, path, json] of [
      ['GET', '', undefined],
      ['GET', '/log', undefined],
      ['GET', '/tail', undefined],
      ['GET', '/commits/1', undefined],
      ['PATCH', '', { title: 'x' }],
      ['DELETE', '', undefined],
      ['POST', '/log', { payload: 1 }],
      ['POST', '/lease', { holder: 'h', ttl: 5 }],
    ] as const) {
      const answer = await thief.ask(method, path, json === undefined ? {} : { json })
      expect([method, path, answer.status, answer.body.code]).toEqual([method, path, 404, 'not_found'])
      expect(answer.headers.get('lares-version')).toBeNull()
    }
    expect((await ask('GET', `/v1/sessions?prefix=${session.id}`, { token })).body.items).toEqual([])
  }
  expect((await session.seen()).shown.version).toBe(1)
})

it('I3 two fleets may have sessions of one name, with nothing in common', async () => {
  const id = freshId()
  const [a, b] = await Promise.all([newFleet(), newFleet()])
  const [mine, yours] = [new TestSession(id, a.key), new TestSession(id, b.key)]
  await mine.ask('PUT')
  expect((await yours.ask('GET')).status).toBe(404)
  await yours.ask('PUT')
  await mine.ask('PUT', '/state/k', { json: 'mine' })
  expect((await yours.ask('GET', '/state/k')).status).toBe(404)
  await yours.ask('PUT', '/state/k', { json: 'mine' })
  const digests = await Promise.all(
    [mine, yours].map(async (one) => (await one.ask('GET', '/state/k')).headers.get('etag')),
  )
  expect(digests[0]).not.toBe(digests[1])
  await yours.ask('DELETE')
  expect(await mine.get('/state/k')).toBe('mine')
})

it('I4 answers go to whoever asked, also for equal keys at one moment', async () => {
  const sessions = await Promise.all(Array.from({ length: 10 }, () => newSession()))
  const answers = await Promise.all(
    sessions.map((session, i) =>
      session.say({ i }, {}, { 'idempotency-key': '1' }).then(() => session.get('/log')),
    ),
  )
  expect(answers.map(({ items }) => items[0].payload.i)).toEqual(sessions.map((_, i) => i))
})

it('I5 a child is never wider than its parent, in sessions, scopes or time', async () => {
  const session = await newSession()
  const parent = await mint({ pattern: 's-*' }, ['read', 'append'], 600)
  const child = (json: Record<string, unknown>) => ask('POST', '/v1/tokens', { json, token: parent.token })
  const base = { session: session.id, scopes: ['read'], expires_in: 60 }
  expect((await child(base)).status).toBe(201)
  for (const wider of [
    { session: 't-1' },
    { session: undefined, pattern: '*' },
    { scopes: ['write'] },
    { scopes: ['read', 'admin'] },
    { scopes: ['files:'] },
    { expires_in: 3600 },
  ]) {
    expect([wider, (await child({ ...base, ...wider })).status]).toEqual([wider, 403])
  }
  const reader = await mint({ session: session.id }, ['read'])
  expect((await session.by(reader.token).say('x')).status).toBe(403)
  expect((await session.get()).version).toBe(0)
  expect((await ask('DELETE', `/v1/tokens/${reader.id}`, { token: rootKey })).status).toBe(204)
  expect((await session.by(reader.token).ask('GET')).status).toBe(401)
})

it('I5 only the root key makes fleets and keys', async () => {
  const { fleet, key } = await newFleet()
  const { token } = await mint({ pattern: '*' }, ['admin'])
  for (const one of [key, token]) {
    expect((await ask('PUT', '/v1/fleets/mine', { token: one })).status).toBe(403)
    expect((await ask('POST', `/v1/fleets/${fleet}/keys`, { json: {}, token: one })).status).toBe(403)
    expect((await ask('DELETE', `/v1/fleets/${fleet}/keys/x`, { token: one })).status).toBe(403)
  }
})
