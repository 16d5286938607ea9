import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Lares } from '../../src/client/index.ts'
import { encodePath, encodeQuery } from '../../src/client/paths.ts'
import { fake, json } from './fake.ts'

test('F1: percent, plus, space, hash and question mark name different things', () => {
  const names = ['my file.txt', 'my+file.txt', 'my%20file.txt', 'a#b?c']
  expect(names.map(encodePath)).toEqual(['my%20file.txt', 'my%2Bfile.txt', 'my%2520file.txt', 'a%23b%3Fc'])
})

test('whatever a URL keeps comes out of it as it went in', () => {
  const segment = fc.string({ unit: 'grapheme' }).filter((s) => s !== '.' && s !== '..' && !s.includes('/'))
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1 }), (segments) => {
      const path = segments.join('/')
      const { pathname } = new URL(`https://edge.test/v1/sessions/s/state/${encodePath(path)}`)
      const got = pathname.slice('/v1/sessions/s/state/'.length).split('/').map(decodeURIComponent).join('/')
      expect(got).toBe(path)
    }),
  )
})

test('segments that a URL takes away are refused, and those that only look like them are not', () => {
  for (const path of ['.', '..', 'a/../b', 'a/.', './a'])
    expect(() => encodePath(path)).toThrow('cannot stand in a URL')
  expect(encodePath('%2e%2e/...')).toBe('%252e%252e/...')
})

test('a name with half a character is refused', () => {
  expect(() => encodePath('a\ud83d')).toThrow('well-formed')
})

test('a query leaves out what is absent and keeps what is false, empty or zero', () => {
  expect(encodeQuery({ a: undefined, after: 0, q: '', all: false })).toBe('?after=0&q=&all=false')
  expect(encodeQuery({ a: undefined })).toBe('')
})

test('a point in time is sent as RFC 3339, a version as a number, a snapshot by its name', async () => {
  const page = () => json({ items: [], next: null })
  const { lares, asked } = fake([page(), page(), page()])
  const session = lares.session('s')
  for (const at of [new Date(1_000), 0, 'snap:before']) await session.at(at).log.list().page()
  expect(asked.map((one) => one.query.at)).toEqual(['1970-01-01T00:00:01.000Z', '0', 'snap:before'])
})

test('an address that is none is refused at once, by its name', () => {
  for (const url of ['', 'edge.test', '/v1']) {
    expect(() => new Lares({ url, token: 't' }), url).toThrow(`url is ${JSON.stringify(url)}`)
  }
})

test('I3: an id that would speak to something else makes no handle', () => {
  const { lares } = fake([])
  for (const id of ['', '..', 's/state/k', 's?x', 's#x', 'a b', '%2e', 'x'.repeat(129), 'é']) {
    expect(() => lares.session(id), id).toThrow('is not a session id')
  }
  expect(lares.session('a.b_c:d@e-f').id).toBe('a.b_c:d@e-f')
})
