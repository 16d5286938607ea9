import { describe, expect, test } from 'vitest'
import { bearerOf, credentialFrom } from '../../src/auth/credential.ts'

const from = (headers: Record<string, string>, query = '', method = 'GET') =>
  credentialFrom(new Request(`https://x.test/v1/sessions/a/tail${query}`, { headers, method }))

describe('a credential', () => {
  test('is the header, by whatever door', () => {
    expect(from({ authorization: 'Bearer a' })).toBe('Bearer a')
    expect(from({ authorization: 'Bearer a', upgrade: 'websocket' }, '?access_token=b')).toBe('Bearer a')
    expect(from({})).toBeNull()
  })

  test('is taken from the address for a WebSocket and an EventSource alone', () => {
    expect(from({ upgrade: 'WebSocket' }, '?access_token=b')).toBe('Bearer b')
    expect(from({ accept: 'text/event-stream' }, '?after=1&access_token=b')).toBe('Bearer b')
    expect(from({}, '?access_token=b')).toBeNull()
    expect(from({ accept: 'application/json' }, '?access_token=b')).toBeNull()
    expect(from({ accept: 'text/event-stream' }, '?access_token=b', 'POST')).toBeNull()
    expect(from({ upgrade: 'websocket' }, '?access_token=b&access_token=c')).toBeNull()
  })

  test('is a bearer, in any case, of a bounded length', () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) expect(bearerOf(`${scheme}  abc `)).toBe('abc')
    for (const other of [
      'Basic abc',
      'Bearer',
      'Bearer ',
      'Bearerabc',
      'abc',
      '',
      `Bearer ${'a'.repeat(9_000)}`,
    ]) {
      expect(bearerOf(other)).toBeNull()
    }
  })
})
