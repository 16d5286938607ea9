// The document as its readers get it: valid by OpenAPI's own schema, and true. A tour of the API checks each answer, also
// the refused ones, against what the document says of that route and status.

import { Script } from 'node:vm'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LocalEdge, startLocal } from '../../src/local/index.ts'
import { type Document, Tour } from './tour.ts'

let edge: LocalEdge
let tour: Tour

beforeAll(async () => {
  edge = await startLocal({ key: 'docs-test-key', quiet: true })
  const response = await fetch(`${edge.url}/openapi.json`)
  // The first test below checks that it is one.
  tour = new Tour(edge, (await response.json()) as Document)
})
afterAll(() => edge.close())

it('the document is valid OpenAPI 3.1', async () => {
  const validator = new Validator()
  const { valid, errors } = await validator.validate({ ...structuredClone(tour.document) })
  expect(errors).toBeUndefined()
  expect(valid).toBe(true)
  expect(validator.version).toBe('3.1')
})

it('a document with a mistake would be found out', async () => {
  const broken = structuredClone(tour.document)
  Object.assign(Object.values(broken.paths)[0] ?? {}, { get: { responses: 7 } })
  expect((await new Validator().validate({ ...broken })).valid).toBe(false)
})

it('the script of /docs is one that a browser can read', async () => {
  const html = await (await fetch(`${edge.url}/docs`)).text()
  const script = html.split(/<script>|<\/script>/)[1] ?? ''
  expect(script.length).toBeGreaterThan(1000)
  expect(() => new Script(script)).not.toThrow()
})

describe('each answer is as described', () => {
  const world = '/v1/sessions/tour'

  it('of sessions', async () => {
    await tour.go('put', world, { body: { title: 'Tour', labels: { a: 'b' } } }, 201)
    await tour.go('put', world, {}, 200)
    await tour.go('post', '/v1/sessions', {}, 201)
    await tour.go('get', world, {}, 200)
    await tour.go('patch', world, { body: { labels: { a: null }, retention: { days: 9 } } }, 200)
    await tour.go('patch', world, { body: { colour: 1 } }, 422)
    await tour.go('get', '/v1/sessions', {}, 200)
    await tour.go('get', '/v1/sessions?limit=0', {}, 422)
    await tour.go('get', '/v1/sessions/nobody', {}, 404)
    await tour.go('put', '/v1/sessions/short', {}, 201)
    await tour.go('delete', '/v1/sessions/short', {}, 204)
    await tour.go('get', '/v1/sessions/short', {}, 410)
  })

  it('of commits', async () => {
    const ops = [
      { op: 'log.append', payload: { n: 1 }, key: 'one', from: ['state:x'] },
      { op: 'state.set', key: 'x', value: [1, null] },
      { op: 'state.add', key: 'n', by: 2 },
      { op: 'state.patch', key: 'p', patch: { a: 1 } },
      { op: 'state.delete', key: 'nothing' },
    ]
    const body = { ops, message: 'All at once', cause: { run: 1 } }
    const { version } = await tour.go('post', `${world}/commits`, { body }, 201)
    await tour.go('post', `${world}/commits`, { body: { ops, expect: 99 } }, 412)
    await tour.go('post', `${world}/commits`, { body: { ops } }, 409)
    await tour.go('post', `${world}/commits`, { body: { ops: [{ op: 'no.such' }] } }, 422)
    await tour.go('post', `${world}/commits`, { body: '{', type: 'text/plain' }, 415)
    await tour.go('get', `${world}/commits`, {}, 200)
    const full = await tour.go('get', `${world}/commits/${version}`, {}, 200)
    const known = { headers: { 'if-none-match': `"${full.digest}"` } }
    await tour.go('get', `${world}/commits/${version}`, known, 304)
    await tour.go('get', `${world}/commits/1000`, {}, 404)
  })

  it('of the log', async () => {
    await tour.go('post', `${world}/log`, { body: { payload: 'a' } }, 201)
    const call = { type: 'tool_call', payload: { id: 'c1', name: 'ls', input: {} } }
    await tour.go('post', `${world}/log`, { body: { events: [call, { payload: 1, parent: 1 }] } }, 201)
    await tour.go('post', `${world}/log`, { body: { type: 'tool_result', payload: { call_id: '?' } } }, 422)
    await tour.go('get', `${world}/log?limit=2`, {}, 200)
    await tour.go('get', `${world}/log/pending`, {}, 200)
    await tour.go('get', `${world}/log/1`, {}, 200)
    await tour.go('get', `${world}/log/999`, {}, 404)
    await tour.go('get', `${world}/log?at=1000`, {}, 404)
  })

  it('of state', async () => {
    await tour.go('put', `${world}/state/plan/a`, { body: { b: 1 } }, 201)
    await tour.go('put', `${world}/state/plan/a`, { body: 0 }, 200)
    await tour.go('patch', `${world}/state/plan/a`, { body: { c: 1 } }, 200)
    await tour.go('put', `${world}/state/plan/a`, { body: 0, headers: { 'if-none-match': '*' } }, 412)
    await tour.go('get', `${world}/state?prefix=plan`, {}, 200)
    await tour.go('get', `${world}/state/plan/a`, {}, 200)
    await tour.go('delete', `${world}/state/plan/a`, {}, 200)
    await tour.go('delete', `${world}/state/plan/a`, {}, 404)
  })

  it('of files', async () => {
    const file = `${world}/files/notes/a.txt`
    await tour.go('put', file, { body: 'hello', type: 'text/plain' }, 201)
    const put = await tour.go('put', file, { body: 'hello!', type: 'text/plain' }, 200)
    await tour.go('put', `${world}/files/a%2F%2Fb`, { body: '', type: 'text/plain' }, 422)
    await tour.go('get', `${world}/files`, {}, 200)
    await tour.go('get', `${world}/files?delimiter=/`, {}, 200)
    await tour.go('get', file, {}, 200)
    await tour.go('head', file, {}, 200)
    await tour.go('get', file, { headers: { range: 'bytes=1-2' } }, 206)
    await tour.go('get', file, { headers: { range: 'bytes=99-' } }, 416)
    await tour.go('get', `${world}/blobs/${put.blob}`, {}, 200)
    await tour.go('put', `${world}/blobs/${put.blob}`, { body: 'hello!', type: 'text/plain' }, 201)
    await tour.go('put', `${world}/blobs/${put.blob}`, { body: 'other', type: 'text/plain' }, 412)
    await tour.go('delete', file, {}, 200)
  })

  it('of blobs and uploads', async () => {
    const none = '0'.repeat(64)
    await tour.go('post', `${world}/blobs/missing`, { body: { digests: [none] } }, 200)
    await tour.go('get', `${world}/blobs/${none}`, {}, 404)
    const { upload } = await tour.go('post', `${world}/uploads`, { body: {} }, 201)
    const one = `${world}/uploads/${upload}`
    await tour.go('put', `${one}/parts/1`, { body: 'part', type: 'text/plain' }, 200)
    await tour.go('put', `${one}/parts/0`, { body: 'part', type: 'text/plain' }, 422)
    await tour.go('get', one, {}, 200)
    await tour.go('post', `${one}/complete`, { body: { parts: [1, 2] } }, 422)
    await tour.go('post', `${one}/complete`, { body: { parts: [1] } }, 200)
    await tour.go('get', one, {}, 200)
    const { upload: another } = await tour.go('post', `${world}/uploads`, {}, 201)
    await tour.go('delete', `${world}/uploads/${another}`, {}, 204)
  })

  it('of time', async () => {
    await tour.go('put', `${world}/state/story`, { body: 'one\ntwo\n' }, 201)
    const { version } = await tour.go('get', world, {}, 200)
    await tour.go('post', `${world}/snapshots`, { body: { name: 'v1' } }, 201)
    await tour.go('post', `${world}/snapshots`, { body: { name: 'v1' } }, 409)
    await tour.go('get', `${world}/snapshots`, {}, 200)
    await tour.go('get', `${world}/snapshots/v1`, {}, 200)
    await tour.go('get', `${world}/snapshots/none`, {}, 404)
    await tour.go('get', `${world}/snapshots/v1/objects`, {}, 200)
    await tour.go('post', `${world}/forks`, { body: { session: 'branch', at: 'snap:v1' } }, 201)
    await tour.go('post', `${world}/forks`, { body: { session: 'branch' } }, 409)
    const branch = '/v1/sessions/branch'
    await tour.go('put', `${branch}/state/story`, { body: 'one\nthree\n' }, 200)
    await tour.go('put', `${branch}/state/new`, { body: 1 }, 201)
    await tour.go('post', `${branch}/log`, { body: { payload: 'from the branch' } }, 201)
    await tour.go('get', `${branch}/diff?from=snap:none`, {}, 404)
    await tour.go('get', `${branch}/diff?from=${version}`, {}, 200)
    await tour.go('get', `${world}/diff?with=branch`, {}, 200)
    await tour.go('put', `${world}/state/story`, { body: 'one\nfour\n' }, 200)
    await tour.go('post', `${world}/merge`, { body: { from: 'branch' } }, 409)
    await tour.go(
      'post',
      `${world}/merge`,
      { body: { from: 'branch', strategy: 'theirs', dry_run: true } },
      200,
    )
    await tour.go('post', `${world}/merge`, { body: { from: 'branch', strategy: 'theirs' } }, 201)
    await tour.go('get', `${world}/log?limit=1000`, {}, 200)
    await tour.go('post', `${world}/revert`, { body: { to: version } }, 201)
    await tour.go('post', `${world}/revert`, { body: { to: 1000 } }, 404)
    await tour.go('get', `${world}/log?view=all&limit=1000`, {}, 200)
    await tour.go('delete', `${world}/snapshots/v1`, {}, 204)
  })

  it('of proof', async () => {
    await tour.go('put', `${world}/state/secret`, { body: 'a name' }, 201)
    await tour.go('put', `${world}/files/secret.txt`, { body: 'a face', type: 'text/plain' }, 201)
    const { seq } = (await tour.go('post', `${world}/log`, { body: { payload: 'a name' } }, 201)).events[0]
    const { version } = await tour.go('get', world, {}, 200)
    const refs = ['state:secret', 'file:secret.txt', `log:${seq}`]
    await tour.go('post', `${world}/erase`, { body: { refs } }, 200)
    await tour.go('post', `${world}/erase`, { body: { refs: ['state:nothing'] } }, 404)
    await tour.go('get', `${world}/state/secret`, {}, 410)
    await tour.go('get', `${world}/state`, {}, 200)
    await tour.go('get', `${world}/files`, {}, 200)
    await tour.go('get', `${world}/log?limit=1000`, {}, 200)
    await tour.go('get', `${world}/commits/${version}`, {}, 200)
    await tour.go('get', `${world}/verify`, {}, 200)
  })

  it('of tables', async () => {
    const table = `${world}/tables/jobs`
    const columns = { id: 'string', cost: 'float', note: { type: 'json' } }
    await tour.go('put', table, { body: { columns, key: 'id' } }, 201)
    await tour.go('put', table, { body: { columns, key: 'id' } }, 200)
    await tour.go('put', `${world}/tables/log`, { body: { columns } }, 422)
    await tour.go('patch', table, { body: { add: { done: 'bool' } } }, 200)
    await tour.go('get', `${world}/tables`, {}, 200)
    await tour.go('get', table, {}, 200)
    const rows = [{ id: 'a', cost: 1.5 }, { id: 'b', note: { x: [1] } }, { id: 'c' }]
    await tour.go('post', `${table}/rows`, { body: { rows } }, 201)
    await tour.go('post', `${table}/rows`, { body: { rows } }, 409)
    await tour.go('post', `${table}/rows`, { body: { rows: [{ id: 'd', cost: 'x' }] } }, 422)
    await tour.go('get', `${table}/rows?limit=2`, {}, 200)
    await tour.go('get', `${table}/rows/b`, {}, 200)
    await tour.go('patch', `${table}/rows/b`, { body: { cost: 2 } }, 200)
    await tour.go('post', `${table}/query`, { body: { where: { cost: { $gt: 1 } }, order: '-cost' } }, 200)
    await tour.go('post', `${table}/query`, { body: { where: { colour: 1 } } }, 422)
    await tour.go('post', `${table}/update`, { body: { where: { id: 'a' }, set: { done: true } } }, 200)
    await tour.go('post', `${table}/delete`, { body: { where: { id: 'c' } } }, 200)
    await tour.go('delete', `${table}/rows/b`, {}, 200)
    await tour.go('delete', `${table}/rows/b`, {}, 404)
  })

  it('of SQL, views and lineage', async () => {
    await tour.go('post', `${world}/query`, { body: { sql: 'SELECT id, cost FROM jobs' } }, 200)
    await tour.go('post', `${world}/query`, { body: { sql: 'SELECT nothing FROM jobs' } }, 422)
    await tour.go('get', `${world}/query/schema`, {}, 200)
    await tour.go('put', `${world}/views/dear`, { body: { sql: 'SELECT * FROM jobs WHERE cost > 1' } }, 201)
    await tour.go('get', `${world}/views`, {}, 200)
    await tour.go('get', `${world}/views/dear`, {}, 200)
    await tour.go('delete', `${world}/views/dear`, {}, 200)
    const ops = [{ op: 'state.set', key: 'made', value: 1, from: ['log:1'] }]
    await tour.go('post', `${world}/commits`, { body: { ops } }, 201)
    await tour.go('get', `${world}/lineage?of=state:made`, {}, 200)
    await tour.go('get', `${world}/lineage?of=log:1&direction=down`, {}, 200)
    await tour.go('delete', `${world}/tables/jobs`, {}, 200)
  })

  it('of memory', async () => {
    const memories = `${world}/memories`
    const { id } = await tour.go(
      'post',
      memories,
      { body: { text: 'The linker comes first', tags: ['build'] } },
      201,
    )
    await tour.go('post', memories, { body: { text: 7 } }, 422)
    await tour.go('get', memories, {}, 200)
    await tour.go('get', `${memories}/${id}`, {}, 200)
    await tour.go('patch', `${memories}/${id}`, { body: { meta: { sure: true } } }, 200)
    await tour.go('post', `${world}/recall`, { body: { query: 'linker' } }, 200)
    await tour.go('get', `${world}/memory`, {}, 200)
    await tour.go('delete', `${memories}/${id}`, {}, 200)
    await tour.go('get', `${memories}/${id}`, {}, 404)
  })

  it('of leases', async () => {
    const lease = { holder: 'tour', ttl: 60 }
    const { token } = await tour.go('post', `${world}/lease`, { body: lease }, 201)
    await tour.go('post', `${world}/lease`, { body: lease }, 409)
    await tour.go('post', `${world}/log`, { body: { payload: 1 } }, 409)
    await tour.go('put', `${world}/lease`, { headers: { 'lares-lease': token } }, 200)
    await tour.go('get', world, {}, 200)
    await tour.go('delete', `${world}/lease`, { headers: { 'lares-lease': token } }, 204)
    await tour.go('delete', `${world}/lease`, { headers: { 'lares-lease': token } }, 409)
  })

  it('of fleets, keys and tokens', async () => {
    await tour.go('put', '/v1/fleets/acme', {}, 201)
    await tour.go('put', '/v1/fleets/acme', {}, 200)
    const { id } = await tour.go('post', '/v1/fleets/acme/keys', { body: { label: 'ci' } }, 201)
    await tour.go('delete', `/v1/fleets/acme/keys/${id}`, {}, 204)
    await tour.go('post', '/v1/fleets/nobody/keys', {}, 404)
    const scopes = { session: 'tour', scopes: ['read'], expires_in: 60 }
    const minted = await tour.go('post', '/v1/tokens', { body: scopes }, 201)
    const weak = { key: minted.token, body: { payload: 1 } }
    await tour.go('post', `${world}/log`, weak, 403)
    await tour.go('delete', `/v1/tokens/${minted.id}`, {}, 204)
    await tour.go('get', world, { key: 'wrong' }, 401)
    await tour.go('get', '/v1/commits', {}, 200)
  })

  it('of the service itself', async () => {
    await tour.go('get', '/healthz', {}, 200)
    await tour.go('get', '/openapi.json', {}, 200)
    await tour.go('get', '/docs', {}, 200)
  })
})
