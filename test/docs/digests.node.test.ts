// docs/digests.md, followed to the letter: a verifier that uses Node's own crypto and nothing of ours, for the vectors on
// that page and for a session that an edge serves.

import { createHash, createHmac, hkdfSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type LocalEdge, startLocal } from '../../src/local/index.ts'
import { call } from '../support/http.ts'

/** RFC 8785, for values that came out of a JSON parser. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join(',')}}`
}

function saltKey(secret: string, fleet: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `lares salt key v1\n${fleet}`, 32))
}

function saltOf(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex').slice(0, 32)
}

function valueDigest(salt: string, text: string): string {
  return createHash('sha256').update(Buffer.from(salt, 'hex')).update(text).digest('hex')
}

function commitDigest(lines: readonly string[]): string {
  return createHash('sha256')
    .update(lines.map((line) => `${line}\n`).join(''))
    .digest('hex')
}

interface Vectors {
  secret: string
  fleet: string
  salt_key: string
  values: { canonical: string; salt: string; digest: string }[]
  commits: { lines: string[]; digest: string }[]
}

function vectors(): Vectors {
  const page = readFileSync('docs/digests.md', 'utf8')
  // The page's only JSON block; its members are checked by being used.
  return JSON.parse(/```json\n([\s\S]*?)```/.exec(page)?.[1] ?? '') as Vectors
}

it('the page’s salt key is what its rule gives', () => {
  const { secret, fleet, salt_key } = vectors()
  expect(saltKey(secret, fleet).toString('hex')).toBe(salt_key)
})

it('the page’s value digests are what its rules give', () => {
  const { salt_key, values } = vectors()
  expect(values.length).toBeGreaterThan(10)
  for (const { canonical: text, salt, digest } of values) {
    expect(canonical(JSON.parse(text))).toBe(text)
    expect(saltOf(Buffer.from(salt_key, 'hex'), text)).toBe(salt)
    expect(valueDigest(salt, text)).toBe(digest)
  }
})

it('the page’s commits are canonical, chained, and hashed as it says', () => {
  let previous = '0'.repeat(64)
  for (const { lines, digest } of vectors().commits) {
    for (const line of lines) expect(canonical(JSON.parse(line))).toBe(line)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ previous })
    expect(commitDigest(lines)).toBe(digest)
    previous = digest
  }
})

const secret = 'the secret of this test alone'
const world = '/v1/sessions/verified'
let edge: LocalEdge

beforeAll(async () => {
  edge = await startLocal({ key: 'digest-key', quiet: true, bindings: { LARES_DIGEST_SECRET: secret } })
  await call(edge, 'PUT', world, {})
})
afterAll(() => edge.close())

interface InFull {
  version: number
  at: string
  actor: string
  message: string | null
  cause: unknown
  previous: string
  digest: string
  ops: { op: string; ref: string; digest: string | null; from?: string[]; salt?: string; value?: unknown }[]
}

/** Steps 1 to 3 of the page; answers how many values it has seen. */
function verify(commit: InFull, previous: string): number {
  const { actor, at, cause, message, version } = commit
  expect(commit.previous).toBe(previous)
  let values = 0
  const lines = [canonical({ actor, at, cause, message, previous, version })]
  for (const { op, ref, digest, from, salt, value } of commit.ops) {
    if (salt !== undefined) {
      values++
      const text = canonical(value)
      expect(valueDigest(salt, text)).toBe(digest)
      expect(saltOf(saltKey(secret, 'default'), text)).toBe(salt)
    }
    lines.push(canonical(from === undefined ? [op, ref, digest] : [op, ref, digest, from]))
  }
  expect(commitDigest(lines)).toBe(commit.digest)
  return values
}

async function write(...ops: object[]): Promise<void> {
  const { status, body } = await call(edge, 'POST', `${world}/commits`, {
    ops,
    message: 'A "quoted" message\n',
    cause: { run: 'ü', n: 1e21 },
  })
  expect(status, JSON.stringify(body)).toBe(201)
}

it('a session that an edge serves verifies from the page alone, version by version', async () => {
  const put = await fetch(`${edge.url}${world}/files/notes/ä.txt`, {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${edge.key}`,
      'content-type': 'text/plain',
      'lares-mtime': '2026-01-02T03:04:05Z',
    },
    body: 'hello',
  })
  expect(put.status).toBe(201)
  await write(
    { op: 'log.append', payload: { id: 'c1', name: 'ls', input: {} }, type: 'tool_call', key: 'k"1' },
    { op: 'log.append', payload: { call_id: 'c1', output: '€😀\u2028' }, type: 'tool_result', parent: 1 },
    { op: 'log.append', payload: null, lane: 'inbox' },
  )
  await write(
    { op: 'state.set', key: 'plan', value: { z: [1e-7, -0, 0.1], a: '\u0007', __proto__x: null } },
    { op: 'state.add', key: 'n', by: 1 },
    { op: 'state.add', key: 'n', by: 1, from: ['log:1'] },
    { op: 'state.delete', key: 'not there' },
  )
  await write(
    { op: 'file.move', path: 'notes/ä.txt', to: 'b.txt' },
    { op: 'state.patch', key: 'plan', patch: { z: null } },
  )
  // Large enough to lie in R2.
  await write({ op: 'state.set', key: 'large', value: 'x'.repeat(300_000) })
  await write({ op: 'log.append', payload: { text: 'y'.repeat(300_000) } })
  await write({ op: 'file.delete', prefix: '' })

  const { body: head } = await call(edge, 'GET', world)
  let previous = '0'.repeat(64)
  let values = 0
  for (let version = 1; version <= head.version; version++) {
    const { body } = await call(edge, 'GET', `${world}/commits/${version}`)
    values += verify(body, previous)
    previous = body.digest
  }
  expect(previous).toBe(head.digest)
  expect(values).toBe(10)
})

it('an erased value takes its salt along, and the chain still verifies', async () => {
  await write({ op: 'state.set', key: 'phone', value: '+41 44 668 18 00' })
  const { body: before } = await call(edge, 'GET', world)
  const { body: full } = await call(edge, 'GET', `${world}/commits/${before.version}`)
  expect(full.ops[0]).toHaveProperty('salt')
  expect((await call(edge, 'POST', `${world}/erase`, { refs: ['state:phone'] })).status).toBe(200)
  const { body: now } = await call(edge, 'GET', `${world}/commits/${before.version}`)
  expect(now.ops[0]).toEqual({
    op: 'state.set',
    ref: 'state:phone',
    digest: full.ops[0].digest,
    erased: true,
  })
  expect(verify(now, now.previous)).toBe(0)
  const { body: erasure } = await call(edge, 'GET', `${world}/commits/${before.version + 1}`)
  expect(erasure.ops).toEqual([{ op: 'erase', ref: `state:phone@${before.version}`, digest: null }])
  verify(erasure, now.digest)
})

it('a changed value, time or order would be found out', async () => {
  const { body } = await call(edge, 'GET', `${world}/commits/2`)
  const { previous } = body
  expect(() => verify(structuredClone(body), previous)).not.toThrow()
  for (const change of [
    (commit: InFull) => Object.assign(commit, { at: '2026-01-01T00:00:00.000Z' }),
    (commit: InFull) => commit.ops.reverse(),
    (commit: InFull) => Object.assign(commit.ops[0] ?? {}, { value: 'another' }),
    (commit: InFull) => commit.ops.pop(),
  ]) {
    const forged: InFull = structuredClone(body)
    change(forged)
    expect(() => verify(forged, previous)).toThrow()
  }
})
