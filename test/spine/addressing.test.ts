// Which key, path or session a URL names, and that nothing else is ever meant by it.

import { describe, expect, it } from 'vitest'
import { ask, newSession, TestSession } from './support.ts'

describe('a key or path in a URL', () => {
  it('is never guessed: the list itself cannot be written', async () => {
    const s = await newSession()
    expect((await s.ask('PUT', '/state', { json: 1 })).status).toBe(404)
    expect((await s.ask('PATCH', '/state', { json: {} })).status).toBe(404)
    expect((await s.ask('DELETE', '/state')).status).toBe(404)
    expect((await s.ask('PUT', '/files', { raw: 'x' })).status).toBe(404)
    expect((await s.ask('DELETE', '/files')).status).toBe(404)
    expect((await s.get()).version).toBe(0)
  })

  it.each(['state', 'files', 'log', 'commits'])(
    'is what follows the resource, in a session named %s too',
    async (id) => {
      const s = new TestSession(id)
      await s.ask('PUT')
      await s.ask('PUT', '/state/state/files/k', { json: 1 })
      await s.ask('PUT', '/files/files/state/f', { raw: 'x' })
      expect((await s.get('/state')).items).toMatchObject([{ key: 'state/files/k' }])
      expect((await s.get('/files')).items).toMatchObject([{ path: 'files/state/f' }])
      expect(await s.get('/state/state/files/k')).toBe(1)
    },
  )

  it('is percent-encoded once, with slashes as themselves or encoded', async () => {
    const s = await newSession()
    const keys = ['a/b', 'a%2Fb', 'a b', 'a+b', 'é', 'a#b?c', '%', '🚀', '.', '..', ' ', '"', "'"]
    for (const [i, key] of keys.entries()) await s.wrote([{ op: 'state.set', key, value: i }])
    for (const [i, key] of keys.entries()) {
      // A client's URL parser resolves dots, encoded or not, so such keys have no URL.
      if (key === '.' || key === '..') continue
      expect(await s.get(`/state/${encodeURIComponent(key)}`)).toBe(i)
    }
    expect(await s.get('/state/a/b')).toBe(0)
  })

  it('that is not UTF-8 is refused, in the path and in the query', async () => {
    const s = await newSession()
    for (const path of ['/state/%ff', '/state/%', '/files/%C3%28', '/state?prefix=%ff', '/log?type=%E0%A4']) {
      const answer = await s.ask('GET', path)
      expect([path, answer.status, answer.body.code]).toEqual([path, 422, 'invalid'])
    }
  })

  it('the empty key is a key, and is not the list', async () => {
    const s = await newSession()
    expect((await s.ask('GET', '/state/')).status).toBe(404)
    await s.ask('PUT', '/state/', { json: 'empty' })
    expect(await s.get('/state/')).toBe('empty')
    expect((await s.get('/state')).items).toEqual([{ key: '', value: 'empty', since: 1 }])
  })
})

describe('a pointer in a refusal', () => {
  const cases: [string, string, string, string][] = [
    ['/log', '{"payload":"a\\ud99cb"}', '/payload', 'a lone surrogate in one event'],
    ['/log', '{"payload":{"a":[1,"\\ud99c"]}}', '/payload/a/1', 'deep in an event'],
    [
      '/log',
      '{"events":[{"payload":1},{"payload":{"~/":"\\ud800"}}]}',
      '/events/1/payload/~0~1',
      'in a batch',
    ],
    ['/log', '{"payload":1,"x":2}', '/x', 'an unknown field'],
    ['/log', '{"payload":1,"lane":"x"}', '/lane', 'an unknown lane'],
    ['/log', '{"payload":1,"__proto__":2}', '/__proto__', 'a field called __proto__'],
    ['/log', '{"payload":{},"type":"tool_call"}', '/payload/id', 'a call without an id'],
    ['/log', '{}', '/payload', 'nothing at all'],
    ['/commits', '{"ops":[{"op":"x"}]}', '/ops/0/op', 'an unknown operation'],
    [
      '/commits',
      '{"ops":[{"op":"state.set","key":"a","value":1,"if":{"version":-1}}]}',
      '/ops/0/if/version',
      'a bad condition',
    ],
    [
      '/commits',
      '{"ops":[{"op":"state.set","key":"a","value":{"b":"\\ud800"}}]}',
      '/ops/0/value/b',
      'a value',
    ],
    [
      '/commits',
      '{"ops":[{"op":"state.set","key":"a","value":{"":18446744073709551616}}]}',
      '/ops/0/value/',
      'an empty key',
    ],
    ['/commits', '{"ops":[],"expect":1}', '/ops', 'no operations'],
    [
      '/commits',
      '{"ops":[{"op":"state.set","key":"a","value":1}],"x":1}',
      '/x',
      'an unknown field of a commit',
    ],
  ]
  it.each(cases)('%s %s → %s (%s)', async (path, raw, pointer) => {
    const s = await newSession()
    const answer = await s.ask('POST', path, { raw, headers: { 'content-type': 'application/json' } })
    expect([answer.status, answer.body.code, answer.body.pointer]).toEqual([422, 'invalid', pointer])
    expect((await s.get()).version).toBe(0)
  })
})

describe('labels', () => {
  it('called like members of every object are labels, but for __proto__, which is refused aloud', async () => {
    const s = await newSession({ labels: { constructor: 'a', toString: 'b' } })
    expect((await s.get()).labels).toEqual({ constructor: 'a', toString: 'b' })
    const raw = '{"labels":{"__proto__":"x"}}'
    for (const method of ['PUT', 'PATCH']) {
      const answer = await s.ask(method, '', { raw, headers: { 'content-type': 'application/json' } })
      expect([answer.status, answer.body.pointer]).toEqual([422, '/labels'])
    }
  })

  it('a filter on __proto__ filters', async () => {
    const listed = await ask('GET', '/v1/sessions?label.__proto__=x')
    expect([listed.status, listed.body.items]).toEqual([200, []])
  })
})

describe('a cursor', () => {
  it('of another list, another prefix or another kind is refused, never silently the wrong page', async () => {
    const s = await newSession()
    await s.wrote(['a1', 'a2', 'b1', 'b2'].map((key) => ({ op: 'state.set', key, value: 0 })))
    await s.wrote([1, 2, 3].map((payload) => ({ op: 'log.append', payload })))
    const ofState = (await s.get('/state?prefix=a&limit=1')).next
    const ofLog = (await s.get('/log?limit=1')).next
    expect((await s.get(`/state?prefix=a&cursor=${ofState}`)).items).toMatchObject([{ key: 'a2' }])
    for (const path of [
      `/state?prefix=b&cursor=${ofState}`,
      `/state?cursor=${ofLog}`,
      `/log?cursor=${ofState}`,
      `/commits?cursor=${ofLog}`,
      `/files?cursor=${ofState}`,
      '/log?cursor=',
      '/log?cursor=%20',
    ]) {
      expect([path, (await s.ask('GET', path)).status]).toEqual([path, 422])
    }
  })
})
