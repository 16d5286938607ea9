// Nothing a client sends becomes a 500, and nothing that is refused changes anything. The routes are the app's own list, so
// a route added tomorrow is walked too.

import { beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '../../src/edge/app.ts'
import { errors } from '../../src/protocol/errors.ts'
import { type Asked, ask, type Loose, newSession, type TestSession } from './support.ts'

const routes = [
  ...new Map(
    createApp()
      .routes.filter(({ path, method }) => path.startsWith('/v1/') && method !== 'ALL')
      .map(({ method, path }) => [`${method} ${path}`, { method, path }]),
  ).values(),
]

/** Whose body is bytes, not JSON. */
const takesBytes = (path: string) =>
  /\/(files|blobs|parts)\b|import/.test(path) && !/missing|complete/.test(path)
/** Whose body may be any JSON value. */
const takesAnything = (path: string) => path.endsWith('/state/*')
const takesBody = (method: string) => method === 'POST' || method === 'PUT' || method === 'PATCH'

/** A path as a client would write it, with every part there or at least well-formed. */
function pathOf(pattern: string, session: string, part?: string): string {
  const parts: Record<string, string> = {
    s: session,
    f: 'default',
    version: '1',
    seq: '1',
    sha256: 'a'.repeat(64),
    n: '1',
  }
  return pattern
    .replace(/:(\w+)(\{[^}]*\})?/g, (_, name: string) =>
      part !== undefined && name !== 's' ? part : (parts[name] ?? 'x'),
    )
    .replace('*', part ?? 'k')
}

let session: TestSession
let before: Loose

beforeAll(async () => {
  session = await newSession({ title: 't', labels: { a: 'b' } })
  await session.wrote([
    { op: 'log.append', payload: 1 },
    { op: 'state.set', key: 'k', value: { a: 1 } },
  ])
  await session.ask('PUT', '/files/k', { raw: 'k' })
  before = await session.seen()
})

async function refused(method: string, path: string, asked: Asked = {}): Promise<Loose> {
  const answer = await ask(method, path, asked)
  const what = `${method} ${path.slice(0, 200)} ${String(asked.raw ?? '').slice(0, 60)} → ${answer.status} ${answer.text.slice(0, 300)}`
  expect(answer.status, what).toBeGreaterThanOrEqual(400)
  expect(answer.status, what).toBeLessThan(500)
  expect(answer.headers.get('lares-request-id'), what).toBeTruthy()
  if (method === 'HEAD') return {}
  expect(answer.headers.get('content-type'), what).toBe('application/problem+json')
  expect(Object.keys(errors), what).toContain(answer.body.code)
  expect(answer.body.status, what).toBe(answer.status)
  expect(Reflect.get(errors, answer.body.code).status, what).toBe(answer.status)
  return answer.body
}

const unchanged = async () => expect(await session.seen()).toEqual(before)

it('the routes are all walked', () => {
  expect(routes.length).toBeGreaterThan(25)
})

describe.each(routes)('$method $path', ({ method, path }) => {
  it('refuses who is nobody', async () => {
    const target = pathOf(path, session.id)
    for (const token of ['', 'x', 'lares_', 'a.b.c', `eyJhbGciOiJub25lIn0.e30.`, 'é', 'x'.repeat(10_000)]) {
      expect((await refused(method, target, { token })).code).toBe('unauthenticated')
    }
    for (const authorization of ['Basic dGVzdDp0ZXN0', 'Bearer', 'Bearer  ', 'bearer', 'test-root-key']) {
      expect((await refused(method, target, { headers: { authorization } })).code).toBe('unauthenticated')
    }
    expect((await refused(method, `${target}?access_token=test-root-key`, { token: '' })).code).toBe(
      'unauthenticated',
    )
    await unchanged()
  })

  it('refuses an unknown parameter, and one given twice', async () => {
    const target = pathOf(path, session.id)
    const asked = takesBody(method) && !takesBytes(path) ? { json: {} } : {}
    for (const query of ['nonsense=1', '__proto__=1', 'at=1&at=2', 'limit=1&limit=1', '%ff=1', 'x=%']) {
      await refused(method, `${target}?${query}`, asked)
    }
    await unchanged()
  })

  it('refuses names that are none', async () => {
    for (const bad of ['%ff', '%', '%00', 'a%00b', '..%2fx%00', '%ED%A0%80', 'x'.repeat(2000)]) {
      if (path.includes(':s')) await refused(method, path.replace(':s', bad).replace(/:\w+|\*/g, 'x'))
      if (!/:(?!s\b)\w+|\*/.test(path)) continue
      const raw = takesBytes(path) ? 'x' : '{"a":'
      await refused(method, pathOf(path, session.id, bad), takesBody(method) ? { raw } : {})
    }
    for (const id of ['-', 'a b', 'a%2fb', '.a', 'é']) {
      if (path.includes(':s')) await refused(method, path.replace(':s', id).replace(/:\w+|\*/g, 'x'))
    }
    await unchanged()
  })

  if (method === 'GET') {
    it('refuses limits, cursors and versions that are none', async () => {
      const target = pathOf(path, session.id)
      const bad = {
        limit: ['0', '-1', '1.5', 'NaN', '1e9', '', 'x', ' 1', '0x1', '9'.repeat(30)],
        cursor: ['', 'x', '!', 'W10', 'WyJsb2ciLC0xXQ', btoa('["log",1e99]'), 'A'.repeat(9000)],
        at: [
          '-1',
          '1.5',
          'NaN',
          'x',
          '',
          'snap:',
          'snap:none',
          '999999',
          '9'.repeat(30),
          '2999-01-01T00:00:00Z',
          '1970-01-01T00:00:00Z',
          '2026-02-30T00:00:00Z',
          '2026-13-01T00:00:00Z',
          '2026-12-01',
          "1' OR 1=1",
        ],
        order: ['up', 'ASC', ''],
        after: ['-1', '1.5', 'x', '9'.repeat(30)],
        before: ['-1', 'NaN', ''],
        wait: ['-1', '31', 'x', '1e1'],
        delimiter: ['x', '//'],
        lane: ['side'],
        view: ['none'],
        updated_after: ['x', '1', '2026-12-01'],
      }
      for (const [name, values] of Object.entries(bad)) {
        for (const value of values) {
          // A tail that can't be continued from answers with a gap; that is its contract.
          if (name === 'after' && path.endsWith('/tail')) continue
          await refused(method, `${target}?${name}=${encodeURIComponent(value)}`)
        }
      }
      await unchanged()
    })
  }

  if (takesBody(method) && !takesBytes(path)) {
    const deep = (n: number) => '['.repeat(n) + ']'.repeat(n)

    it('refuses what is no JSON, too deep, too large or of another type', async () => {
      const target = pathOf(path, session.id)
      const headers = { 'content-type': 'application/json' }
      const none = [
        '{',
        '{"a":1,}',
        '\ufeff{}',
        'NaN',
        '{"a":NaN}',
        '\0',
        '{"a":"\t"}',
        "{'a':1}",
        'undefined',
        '{}{}',
      ]
      const lossy = [
        '{"a":9007199254740993}',
        '{"a":1e400}',
        `{"a":${'9'.repeat(400)}}`,
        '{"\\ud800":1}',
        '{"a":"\\udc00x"}',
      ]
      for (const raw of [
        ...none,
        ...lossy,
        deep(101),
        deep(200),
        '['.repeat(100_000),
        `{"a":${deep(10_000)}}`,
      ]) {
        await refused(method, target, { raw, headers })
      }
      await refused(method, target, { raw: new Uint8Array([0x22, 0xff, 0xfe, 0x22]), headers })
      await refused(method, target, { raw: new Uint8Array([0xed, 0xa0, 0x80]), headers })
      expect(
        (await refused(method, target, { raw: `"${'x'.repeat(33 * 1024 * 1024)}"`, headers })).code,
      ).toBe('too_large')
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'application/jsonx',
        'x',
        'text/json',
      ]) {
        expect((await refused(method, target, { raw: '{}', headers: { 'content-type': type } })).code).toBe(
          'unsupported_media_type',
        )
      }
      await unchanged()
    })

    if (!takesAnything(path)) {
      it('refuses bodies of another shape, at a pointer', async () => {
        const target = pathOf(path, session.id)
        const shapes: unknown[] = [
          null,
          true,
          0,
          '',
          'x',
          [],
          [{}],
          { unknown_field: 1 },
          { ops: 1 },
          { session: 1, scopes: 1 },
        ]
        for (const json of shapes) {
          const problem = await refused(method, target, { json })
          if (problem.code === 'invalid') expect(typeof problem.pointer).toBe('string')
        }
        const values = [null, true, -1, 1.5, 1e300, '', '\u0000', 'x'.repeat(5000), [], [null], {}, { a: {} }]
        const fields = [
          'ops',
          'payload',
          'events',
          'title',
          'labels',
          'expires_in',
          'retention',
          'holder',
          'ttl',
          'scopes',
          'name',
          'to',
          'from',
          'refs',
          'parts',
          'digests',
          'size',
          'at',
          'session',
          'strategy',
          'sql',
        ]
        for (const field of fields) {
          for (const value of values) {
            await refused(method, target, { json: { [field]: value, unknown_field: value } })
          }
        }
        await unchanged()
      })
    }
  }
})

describe('operations', () => {
  it('of any wrong shape are refused at their place, and leave nothing', { timeout: 120_000 }, async () => {
    const values = [
      undefined,
      null,
      true,
      -1,
      0,
      1.5,
      1e300,
      '',
      '\u0000',
      '/',
      '..',
      'x'.repeat(2000),
      [],
      [1],
      {},
      { version: 1 },
    ]
    const fields = [
      'key',
      'value',
      'patch',
      'by',
      'path',
      'prefix',
      'to',
      'blob',
      'type',
      'mode',
      'mtime',
      'meta',
      'if',
      'from',
      'payload',
      'parent',
      'lane',
      'unknown',
      'must',
      'match',
      'call',
    ]
    const names = [
      'log.append',
      'state.set',
      'state.patch',
      'state.add',
      'state.delete',
      'file.put',
      'file.copy',
      'file.move',
      'file.delete',
      '',
      'constructor',
      '__proto__',
      'toString',
      'row.insert',
      1,
      null,
    ]
    for (const op of names) {
      const ops: Loose[] = []
      for (const field of fields) for (const value of values) ops.push({ op, [field]: value })
      // One that is wrong spoils all, so each goes alone; a last one that never holds makes even the right ones leave nothing.
      const never = { op: 'state.set', key: 'never', value: 1, if: { version: 999 } }
      await Promise.all(
        ops.map(async (one) => {
          const problem = await refused('POST', `/v1/sessions/${session.id}/commits`, {
            json: { ops: [one, never] },
          })
          expect(problem.pointer ?? '/ops', JSON.stringify([one, problem])).toMatch(/^\/ops\/[01]/)
        }),
      )
    }
    await unchanged()
  })

  it('more than a thousand, or a message or cause beyond their limits, are refused', async () => {
    const op = { op: 'log.append', payload: 1 }
    for (const json of [
      { ops: Array.from({ length: 1001 }, () => op) },
      { ops: [op], message: 'x'.repeat(4097) },
      { ops: [op], message: '\ud800' },
      { ops: [op], cause: { x: 'x'.repeat(20_000) } },
      { ops: [op], cause: [] },
      { ops: [op], cause: null },
      { ops: [op], expect: -1 },
      { ops: [op], expect: 1.5 },
      { ops: [op], expect: '1' },
      { ops: [{ ...op, from: Array.from({ length: 101 }, () => 'log:1') }] },
      { ops: [{ ...op, from: ['nonsense'] }] },
    ]) {
      await refused('POST', `/v1/sessions/${session.id}/commits`, { json })
    }
    await unchanged()
  })
})

describe('headers', () => {
  it('that are none are refused, and never reach what they are meant for', async () => {
    const bad: [string, string, Record<string, string>][] = [
      ['PUT', '/files/k', { 'content-type': 'text/html; charset="\\"' }],
      ['PUT', '/files/k', { 'content-type': 'nonsense' }],
      ['PUT', '/files/k', { 'lares-mode': '777' }],
      ['PUT', '/files/k', { 'lares-mtime': 'yesterday' }],
      ['PUT', '/files/k', { 'content-digest': 'sha-256=nonsense' }],
      ['PUT', '/files/k', { 'content-digest': `sha-256=:${btoa('x'.repeat(32))}:` }],
      ['PUT', '/files/k', { 'if-none-match': '"x"' }],
      ['PUT', '/files/k', { 'if-match': 'x' }],
      ['PUT', '/state/k', { 'if-match': `"${'0'.repeat(64)}"` }],
      ['PUT', '/state/k', { 'if-match': '*, "' }],
      ['DELETE', '/state/k', { 'if-match': 'W/"x"' }],
      ['DELETE', '/files/k', { 'if-match': '"' }],
    ]
    for (const [method, path, headers] of bad) {
      await refused(method, `/v1/sessions/${session.id}${path}`, {
        ...(method === 'PUT' ? { raw: '1' } : {}),
        headers: { 'content-type': 'application/json', ...headers },
      })
    }
    await unchanged()
  })

  it('of a conditional or partial read that make no sense are passed over', async () => {
    for (const headers of [
      { range: 'nonsense' },
      { range: 'bytes=5-1' },
      { 'if-none-match': 'x' },
      { 'if-range': 'x', range: 'bytes=0-0' },
    ]) {
      expect(
        (await session.ask('GET', '/files/k', { headers: headers as Record<string, string> })).text,
      ).toBe('k')
    }
  })
})

it('a refusal says what to do', async () => {
  const { id } = session
  const log = `/v1/sessions/${id}/log`
  const said = async (method: string, path: string, asked: Asked = {}) =>
    (await refused(method, path, asked)).detail
  expect(await said('GET', '/')).toContain('/docs')
  expect(await said('GET', log, { token: '' })).toContain('Authorization: Bearer')
  expect(await said('GET', log, { headers: { authorization: 'test-root-key' } })).toContain('Bearer')
  expect(await said('GET', log, { token: 'lares_root_old' })).toContain('unknown, expired or revoked')
  expect(await said('POST', log, { headers: { 'content-type': 'application/json' } })).toContain('empty')
  expect(await said('POST', log, { raw: '1', headers: { 'content-type': 'text/plain' } })).toContain(
    'Content-Type: application/json',
  )
  expect(await said('POST', `/v1/sessions/${id}/lease`, { json: {} })).toBe('required')
  expect(await said('PUT', '/v1/sessions/a%20b')).toContain('1 to 128 of')
  expect(await said('POST', `/v1/sessions/${id}/commits`, { json: { ops: [] } })).toContain('at least one')
})
