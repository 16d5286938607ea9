// What a narrowed credential cannot reach by another door than the one it was refused at.

import { expect, it } from 'vitest'
import { ask, freshId, mint, newSession, sha256Hex } from '../spine/support.ts'

it('a folder’s token cannot read another folder’s bytes by naming their hash', async () => {
  const session = await newSession()
  await session.ask('PUT', '/files/secret/a', { raw: 'the secret' })
  await session.ask('PUT', '/files/docs/a', { raw: 'the document' })
  const secret = await sha256Hex('the secret')
  const known = await sha256Hex('the document')
  const { token } = await mint({ session: session.id }, ['files:docs'])
  const holder = session.by(token)
  const missing = await holder.ask('POST', '/blobs/missing', { json: { digests: [secret, known] } })
  expect(missing.body).toEqual({ missing: [secret] })
  const taken = await holder.commit([{ op: 'file.put', path: 'docs/stolen', blob: secret }])
  expect([taken.status, taken.body.code, taken.body.pointer]).toEqual([422, 'invalid', '/ops/0/blob'])
  expect((await holder.ask('GET', '/files/docs/stolen')).status).toBe(404)
  // What lies in its folder, now or before, and what it has sent itself, it may name.
  expect((await holder.commit([{ op: 'file.put', path: 'docs/b', blob: known }])).status).toBe(201)
  expect((await holder.ask('PUT', `/blobs/${secret}`, { raw: 'the secret' })).status).toBe(201)
  expect((await holder.ask('POST', '/blobs/missing', { json: { digests: [secret] } })).body.missing).toEqual(
    [],
  )
  expect((await holder.commit([{ op: 'file.put', path: 'docs/own', blob: secret }])).status).toBe(201)
  expect((await holder.ask('GET', '/files/docs/own')).text).toBe('the secret')
})

it('who may write everywhere but read one folder does not copy or move what they may not read into it', async () => {
  const session = await newSession()
  await session.ask('PUT', '/files/secret/a', { raw: 'the secret' })
  const { token } = await mint({ session: session.id }, ['write', 'files:docs'])
  const holder = session.by(token)
  for (const op of ['file.copy', 'file.move'])
    for (const source of [
      { path: 'secret/a', to: 'docs/a' },
      { prefix: 'secret/', to: 'docs/' },
    ])
      expect([op, source, (await holder.commit([{ op, ...source }])).status]).toEqual([op, source, 403])
  expect((await holder.commit([{ op: 'file.copy', path: 'secret/a', to: 'secret/b' }])).status).toBe(201)
})

it('a misspelt fleet is no fleet, also where a session is yet to be named', async () => {
  const headers = { 'lares-fleet': freshId('nosuch').toLowerCase() }
  const made = await ask('POST', '/v1/sessions', { json: {}, headers })
  expect([made.status, made.body.code]).toEqual([404, 'not_found'])
  expect((await ask('GET', '/v1/sessions', { headers })).status).toBe(404)
})

it('nobody is given a lease that someone else took under the same idempotency key', async () => {
  const session = await newSession()
  const asked = { json: { holder: 'h', ttl: 60 }, headers: { 'idempotency-key': 'one' } }
  const [one, other] = await Promise.all([1, 2].map(() => mint({ session: session.id }, ['write'])))
  const first = await session.by(one?.token ?? '').ask('POST', '/lease', asked)
  expect(first.status).toBe(201)
  expect((await session.by(one?.token ?? '').ask('POST', '/lease', asked)).text).toBe(first.text)
  expect((await session.by(other?.token ?? '').ask('POST', '/lease', asked)).body.code).toBe('leased')
  const bare = await session.ask('DELETE', '/lease')
  expect([bare.status, bare.body.code, bare.body.epoch]).toEqual([409, 'fenced', 1])
})
