// The small rules of the language: names, paths, references, cursors, merge patches, ranges and headers.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contentDisposition } from '../../src/media/disposition.ts'
import { parseRange } from '../../src/media/range.ts'
import { parseJson } from '../../src/protocol/canonical.ts'
import { errors, fail, toProblem } from '../../src/protocol/errors.ts'
import { mergePatch } from '../../src/protocol/merge-patch.ts'
import { keyProblem, pathProblem, sessionIdPattern } from '../../src/protocol/names.ts'
import { decodeCursor, encodeCursor, parseLimit, parseWhole } from '../../src/protocol/paging.ts'
import { formatRef, parseRef } from '../../src/protocol/refs.ts'

describe('a merge patch', () => {
  // RFC 7396, appendix A.
  const table: [string, string, string][] = [
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', 'null', 'null'],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ]
  it.each(table)('%s with %s becomes %s', (target, patch, result) => {
    expect(mergePatch(JSON.parse(target), JSON.parse(patch))).toEqual(JSON.parse(result))
  })

  it('into nothing is the patch without its nulls', () => {
    expect(mergePatch(undefined, { a: null, b: { c: null, d: 1 } })).toEqual({ b: { d: 1 } })
  })

  it('treats __proto__ as a member, changes neither argument, and no prototype', () => {
    const target = JSON.parse('{"a":{"x":1}}')
    const patch = JSON.parse('{"__proto__":{"polluted":true},"a":{"__proto__":{"y":2},"x":null}}')
    const before = JSON.stringify([target, patch])
    const merged = mergePatch(target, patch)
    expect(JSON.stringify(merged)).toBe('{"a":{"__proto__":{"y":2}},"__proto__":{"polluted":true}}')
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
    expect(JSON.stringify([target, patch])).toBe(before)
  })

  it('twice is the same as once', () => {
    const json = fc.jsonValue({ maxDepth: 4 }).map((value) => parseJson(JSON.stringify(value)))
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const once = mergePatch(target as never, patch as never)
        expect(mergePatch(once, patch as never)).toEqual(once)
      }),
    )
  })
})

describe('names', () => {
  it('a key is any text of at most 512 bytes but for NUL', () => {
    for (const key of [
      '',
      ' ',
      '.',
      '..',
      '/',
      'a/b',
      '\n',
      'é'.repeat(256),
      '🚀'.repeat(128),
      '__proto__',
    ]) {
      expect(keyProblem(key)).toBeNull()
    }
    for (const key of ['a\0', 'é'.repeat(257), 'x'.repeat(513), '\ud800', 'a\udfffb']) {
      expect(keyProblem(key)).not.toBeNull()
    }
  })

  it('a path stays where it is put', () => {
    for (const path of [
      'a',
      'a/b',
      '.a',
      'a..b',
      '...',
      'a b/c',
      'é/🚀',
      'x'.repeat(1024),
      'a\\b',
      'con',
      '-',
      '~',
    ]) {
      expect([path, pathProblem(path)]).toEqual([path, null])
    }
    for (const path of [
      '',
      '/',
      '/a',
      'a/',
      'a//b',
      '.',
      '..',
      './a',
      'a/.',
      'a/..',
      '../a',
      'a/../b',
      '..\\a',
      'a\\..\\b',
      'a\\.',
      'a\0b',
      'x'.repeat(1025),
      '\ud800',
      'é'.repeat(513),
    ]) {
      expect([path, pathProblem(path)]).not.toEqual([path, null])
    }
  })

  it('a session id is plain, and never begins with a sign', () => {
    for (const id of ['a', 'A.b_c:d@e-f', '0', 'x'.repeat(128)]) expect(sessionIdPattern.test(id)).toBe(true)
    for (const id of ['', '.a', '-a', '_a', ':a', 'a/b', 'a b', 'a\n', 'é', 'x'.repeat(129), 'a%']) {
      expect([id, sessionIdPattern.test(id)]).toEqual([id, false])
    }
  })
})

describe('a reference', () => {
  it('reads back as it was formatted, with or without its version', () => {
    const key = fc
      .string({ unit: 'grapheme', maxLength: 60 })
      .filter((k) => keyProblem(k) === null && !/@\d{1,15}$/.test(k))
    fc.assert(
      fc.property(key, fc.nat(), (name, version) => {
        expect(parseRef(formatRef('state', name))).toEqual({ kind: 'state', key: name })
        expect(parseRef(`${formatRef('state', name)}@${version}`)).toEqual({
          kind: 'state',
          key: name,
          version,
        })
      }),
    )
    expect(parseRef('file:clip.mp4@12')).toEqual({ kind: 'file', key: 'clip.mp4', version: 12 })
    expect(parseRef('log:88')).toEqual({ kind: 'log', key: '88' })
    expect(parseRef('state:me@1.2.3.4')).toEqual({ kind: 'state', key: 'me@1.2.3.4' })
  })

  it.each([
    '',
    'x',
    'state',
    'State:a',
    'log:',
    'log:x',
    'log:-1',
    'log:1.5',
    'file:',
    'file:/a',
    'file:../a',
    'table:1a',
    'view:',
    'row:x',
    'state:a\0',
    ' state:a',
    'log:9999999999999999',
  ])('%j is none', (text) => expect(parseRef(text)).toBeNull())
})

describe('paging', () => {
  it('a limit is clamped, and anything but a whole number from 1 is none', () => {
    expect(['1', '100', '1000', '1001', '999999999', undefined].map(parseLimit)).toEqual([
      1, 100, 1000, 1000, 1000, 100,
    ])
    for (const raw of [
      '0',
      '-1',
      '1.5',
      'NaN',
      '',
      ' 1',
      '1e9',
      '0x10',
      '+1',
      '１',
      '9999999999999999999',
      'Infinity',
    ]) {
      expect([raw, parseLimit(raw)]).toEqual([raw, null])
    }
  })

  it('a whole number is digits', () => {
    expect(parseWhole('0')).toBe(0)
    expect(parseWhole('0', 1)).toBeNull()
    expect(parseWhole('999999999999999')).toBe(999999999999999)
    for (const raw of ['', '-1', '1.0', '1e3', ' 1', '1 ', '９', '1_000'])
      expect([raw, parseWhole(raw)]).toEqual([raw, null])
  })

  it('a cursor gives back where it stopped, to its own list alone', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'grapheme' }), fc.nat()), (last) => {
        const cursor = encodeCursor('list', last)
        expect(cursor).toMatch(/^[\w-]+$/)
        expect(decodeCursor('list', cursor)).toBe(last)
        expect(decodeCursor('other', cursor)).toBeNull()
      }),
    )
  })

  it('a cursor made up is none', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(decodeCursor('list', text)).toBeNull()
      }),
    )
    for (const value of [
      ['list', -1],
      ['list', 1.5],
      ['list', null],
      ['list', {}],
      ['list'],
      ['list', 1, 2],
      'list',
      { 0: 'list', 1: 1 },
      ['list', 2 ** 60],
    ]) {
      expect(decodeCursor('list', btoa(JSON.stringify(value)).replaceAll('=', ''))).toBeNull()
    }
  })
})

describe('a range', () => {
  it('is what RFC 9110 says, for every range of every small file', () => {
    for (let size = 0; size <= 6; size++) {
      for (let first = 0; first <= 7; first++) {
        expect(parseRange(`bytes=${first}-`, size)).toEqual(
          first < size ? { start: first, end: size - 1 } : 'unsatisfiable',
        )
        const suffix =
          first === 0 || size === 0 ? 'unsatisfiable' : { start: Math.max(0, size - first), end: size - 1 }
        expect(parseRange(`bytes=-${first}`, size)).toEqual(suffix)
        for (let last = 0; last <= 8; last++) {
          const expected =
            last < first
              ? null
              : first >= size
                ? 'unsatisfiable'
                : { start: first, end: Math.min(last, size - 1) }
          expect(parseRange(`bytes=${first}-${last}`, size)).toEqual(expected)
        }
      }
    }
  })

  it.each([
    undefined,
    '',
    'bytes',
    'bytes=',
    'bytes=-',
    'bytes=a-b',
    'bytes=0-1,3-4',
    'items=0-1',
    'bytes=--1',
    'bytes=1.5-2',
    'bytes 0-1',
  ])('%j is passed over', (header) => expect(parseRange(header, 10)).toBeNull())
})

describe('a file name in a header', () => {
  it('never ends the quotes or the header, whatever the name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (name) => {
        const header = contentDisposition(name)
        expect(header).toMatch(
          /^attachment; filename="[ !#$&+\-.0-9A-Z^_`a-z{}~()@,;=[\]]*"; filename\*=UTF-8''[\w.!~%-]*$/,
        )
        const encoded = header.slice(header.indexOf("''") + 2)
        expect(decodeURIComponent(encoded)).toBe(name.slice(name.lastIndexOf('/') + 1))
      }),
    )
  })
})

describe('the table of errors', () => {
  it('makes a problem of a failure, and leaves nothing internal in it', () => {
    expect(toProblem(fail('version_mismatch', 'why', { head: 3 }))).toEqual({
      type: 'urn:lares:error:version_mismatch',
      title: errors.version_mismatch.title,
      status: 412,
      code: 'version_mismatch',
      detail: 'why',
      head: 3,
    })
  })

  it('has a status of the contract for each code', () => {
    expect(new Set(Object.values(errors).map(({ status }) => status))).toEqual(
      new Set([401, 403, 404, 409, 410, 412, 413, 415, 416, 422, 429, 500, 503]),
    )
  })
})
