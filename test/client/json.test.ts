import { describe, expect, test } from 'vitest'
import { LaresError } from '../../src/client/index.ts'
import { encodeJson } from '../../src/client/json.ts'
import { fake } from './fake.ts'

function refusal(body: unknown): unknown {
  try {
    return encodeJson(body)
  } catch (error) {
    return error
  }
}

describe('a value that JSON would change without a word is refused where it stands', () => {
  const cyclic: Record<string, unknown> = {}
  cyclic.self = cyclic
  test.each([
    ['NaN', { a: 1, b: Number.NaN }, '/b'],
    ['an infinity', [0, Number.NEGATIVE_INFINITY], '/1'],
    ['undefined in an array', { a: [1, undefined] }, '/a/1'],
    ['a hole', { a: new Array(1) }, '/a/0'],
    ['a bigint', { 'a/b': { '~': 1n } }, '/a~1b/~0'],
    ['a function', { f: () => 1 }, '/f'],
    ['a symbol', [Symbol('s')], '/0'],
    ['a Map', { m: new Map([[1, 2]]) }, '/m'],
    ['a typed array', { bytes: new Uint8Array(2) }, '/bytes'],
    ['a lone surrogate', { t: 'a\ud99cb' }, '/t'],
    ['a lone surrogate in a name', { 'a\ud99c': 1 }, '/a\ufffd'],
    ['an invalid date', { d: { toJSON: () => Number.NaN } }, '/d'],
  ])('%s', (_, body, pointer) => {
    const error = refusal(body)
    expect(error).toBeInstanceOf(LaresError)
    expect(error).toMatchObject({ code: 'invalid', status: 422, pointer })
  })

  test('a cycle, and a depth of ten thousand', () => {
    expect(refusal(cyclic)).toMatchObject({ code: 'invalid' })
    let deep: unknown = 0
    for (let i = 0; i < 10_000; i++) deep = [deep]
    expect(refusal(deep)).toMatchObject({ code: 'invalid', detail: 'nested deeper than 100' })
  })

  test('and nothing is sent', async () => {
    const { lares, asked } = fake([])
    await expect(lares.session('s').state.set('k', { a: 1, b: Number.NaN })).rejects.toMatchObject({
      code: 'invalid',
      pointer: '/ops/0/value/b',
    })
    expect(asked).toHaveLength(0)
  })
})

test('what JSON keeps passes as it is', () => {
  const own = JSON.parse('{"__proto__": {"lc": 1}, "$ref": "x", "toJSON": "text"}')
  for (const value of [
    0,
    false,
    '',
    null,
    [],
    {},
    'a\u0000b',
    '\ud83d\ude80',
    2 ** 60,
    own,
    Object.create(null),
  ]) {
    expect(encodeJson(value)).toBe(JSON.stringify(value))
  }
  expect(encodeJson(own)).toContain('"__proto__":{"lc":1}')
})

test('absent members are left out and toJSON is honoured, as everywhere in JavaScript', () => {
  expect(encodeJson({ a: undefined, at: new Date(0) })).toBe('{"at":"1970-01-01T00:00:00.000Z"}')
})
