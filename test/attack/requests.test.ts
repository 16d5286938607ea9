// Requests that are small and mean much, or that say what could not be said again in an answer.

import { expect, it } from 'vitest'
import { freshId, newSession, send, sha256Hex } from '../spine/support.ts'

it('no media type is taken that could not stand in a header', async () => {
  const session = await newSession()
  await session.ask('PUT', '/files/a', { raw: 'a' })
  const blob = await sha256Hex('a')
  for (const type of [
    'text/plain; a="\0"',
    'text/plain; a="\u0001"',
    'text/plain; a="é"',
    'text/plain; a="😀"',
  ]) {
    const put = await session.commit([{ op: 'file.put', path: 'b', blob, type }])
    expect([type, put.status, put.body.pointer]).toEqual([type, 422, '/ops/0/type'])
  }
  const type = 'text/plain; a="b c"; charset=utf-8'
  expect((await session.commit([{ op: 'file.put', path: 'b', blob, type }])).status).toBe(201)
  expect((await session.ask('GET', '/files/b')).headers.get('content-type')).toBe(type)
})

it('folders copied into one another again and again are refused before the object is full', async () => {
  const session = await newSession()
  await session.ask('PUT', '/files/a', { raw: 'a' })
  const ops = Array.from({ length: 30 }, (_, i) => ({ op: 'file.copy', prefix: '', to: `${i}/` }))
  const copied = await session.commit(ops)
  expect([copied.status, copied.body.code]).toEqual([413, 'too_large'])
  expect((await session.get('')).counts.files).toBe(1)
  expect((await session.commit(ops.slice(0, 5))).status).toBe(201)
  expect((await session.get('')).counts.files).toBe(32)
})

it('inputs named once for very many rows count for each of them', async () => {
  const session = await newSession()
  await session.ask('PUT', '/tables/t', { json: { columns: { n: 'int' } } })
  const from = Array.from({ length: 100 }, (_, i) => `state:${i}${'x'.repeat(500)}`)
  const rows = Array.from({ length: 5000 }, (_, n) => ({ n }))
  const written = await session.commit([{ op: 'row.insert', table: 't', rows, from }])
  expect([written.status, written.body.code]).toEqual([413, 'too_large'])
})

it('an answer longer than a row is given again word for word', async () => {
  const session = await newSession()
  await session.ask('PUT', '/tables/t', { json: { columns: { k: 'string', n: 'int' }, key: 'k' } })
  const rows = Array.from({ length: 5000 }, (_, n) => ({ k: `${n}-${'x'.repeat(450)}`, n }))
  const headers = { 'idempotency-key': freshId() }
  const first = await session.commit([{ op: 'row.insert', table: 't', rows }], {}, headers)
  expect(first.status).toBe(201)
  const again = await session.commit([{ op: 'row.insert', table: 't', rows }], {}, headers)
  expect([again.status, again.text]).toEqual([201, first.text])
})

it('a commit of very long names is listed as far as fits, and whole by itself', async () => {
  const session = await newSession()
  await session.ask('PUT', '/files/a', { raw: 'a' })
  const blob = await sha256Hex('a')
  const name = `${'n/'.repeat(450)}é`
  for (let i = 0; i < 2; i++)
    await session.wrote(
      Array.from({ length: 1000 }, (_, n) => ({ op: 'file.put', path: `x/${name}${i}-${n}`, blob })),
    )
  const moved = await session.wrote([
    { op: 'file.move', prefix: 'x/', to: 'y/' },
    { op: 'file.copy', prefix: 'y/', to: 'z/' },
  ])
  const [listed] = (await session.get(`/commits?after=${moved - 1}`)).items
  expect(listed).toMatchObject({ version: moved, ops_more: true })
  expect((await session.get(`/commits/${moved}`)).ops).toHaveLength(6000)
})

it('a preflight has a request id too', async () => {
  const answer = await send('OPTIONS', '/v1/sessions/x/log', { token: '' })
  expect([answer.status, answer.headers.has('lares-request-id')]).toEqual([204, true])
})

it('a fork takes no more labels than a session, and no column is lost for its name', async () => {
  const session = await newSession()
  const labels = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, 'v']))
  expect((await session.ask('POST', '/forks', { json: { labels } })).status).toBe(422)
  const raw = '{"columns":{"__proto__":"string","a":"int"}}'
  const defined = await session.ask('PUT', '/tables/t', {
    raw,
    headers: { 'content-type': 'application/json' },
  })
  expect([defined.status, defined.body.pointer]).toEqual([422, '/columns'])
})
