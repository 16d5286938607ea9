import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Scope } from '../../src/auth/principal.ts'
import {
  can,
  canReadFile,
  canWriteFile,
  covers,
  fileListPrefixes,
  isScope,
  type Need,
  narrower,
  sees,
} from '../../src/auth/scopes.ts'

const NEEDS: Need[] = ['read', 'append', 'write', 'snapshot', 'fork', 'lease', 'admin']
const path = fc
  .array(fc.constantFrom('a', 'b', 'ab', 'docs'), { minLength: 1, maxLength: 4 })
  .map((p) => p.join('/'))
const scope: fc.Arbitrary<Scope> = fc.oneof(
  fc.constantFrom<Scope>(...NEEDS),
  fc
    .tuple(fc.oneof(path, fc.constant('')), fc.boolean())
    .map(([p, slash]): Scope => `files:${p}${slash && p ? '/' : ''}`),
)
const scopes = fc.array(scope, { maxLength: 4 })
const pattern = fc
  .array(fc.constantFrom('a', 'b', '*'), { minLength: 1, maxLength: 10 })
  .map((p) => p.join(''))
const id = fc.array(fc.constantFrom('a', 'b'), { maxLength: 14 }).map((p) => p.join(''))

describe('scopes', () => {
  test('are the ones of the contract and no others', () => {
    for (const good of [...NEEDS, 'files:', 'files:docs', 'files:docs/', 'files:a/b c/ü'])
      expect(isScope(good)).toBe(true)
    const bad = [
      '',
      'Read',
      'files',
      'file:x',
      'files:/x',
      'files:a//b',
      'files:..',
      'files:a/./b',
      'files:\ud800',
      'files:/',
      `files:${'x'.repeat(1_025)}`,
      7,
      null,
    ]
    for (const wrong of bad) expect(isScope(wrong)).toBe(false)
  })

  test('admin may all; write appends; nothing else implies anything', () => {
    for (const held of NEEDS) {
      const allowed = NEEDS.filter((need) => can({ scopes: [held] }, need))
      expect(allowed).toEqual(held === 'admin' ? NEEDS : held === 'write' ? ['append', 'write'] : [held])
    }
    for (const need of NEEDS) expect(can({ scopes: ['files:'] }, need)).toBe(false)
  })

  test('a folder scope ends at a segment, not inside a name', () => {
    for (const held of ['files:docs', 'files:docs/'] as const) {
      const principal = { scopes: [held] }
      for (const inside of ['docs', 'docs/x', 'docs/x/y']) {
        expect(canReadFile(principal, inside)).toBe(true)
        expect(canWriteFile(principal, inside)).toBe(true)
      }
      for (const outside of ['docs2', 'doc', 'a/docs', 'docs2/x', 'Docs/x']) {
        expect(canReadFile(principal, outside)).toBe(false)
        expect(canWriteFile(principal, outside)).toBe(false)
      }
      expect(fileListPrefixes(principal)).toEqual(['docs'])
    }
    expect(canWriteFile({ scopes: ['files:'] }, 'any/thing')).toBe(true)
  })

  test('who may read all files lists all; who may only write lists none', () => {
    expect(fileListPrefixes({ scopes: ['read'] })).toBeNull()
    expect(fileListPrefixes({ scopes: ['admin'] })).toBeNull()
    expect(fileListPrefixes({ scopes: ['files:', 'files:a'] })).toBeNull()
    expect(fileListPrefixes({ scopes: ['write', 'append'] })).toEqual([])
    expect(canReadFile({ scopes: ['write'] }, 'a')).toBe(false)
  })

  test('a narrower set of scopes never does what the wider can not', () => {
    fc.assert(
      fc.property(scopes, scopes, path, (parent, child, file) => {
        if (!narrower(parent, child)) return
        for (const need of NEEDS)
          if (can({ scopes: child }, need)) expect(can({ scopes: parent }, need)).toBe(true)
        if (canReadFile({ scopes: child }, file)) expect(canReadFile({ scopes: parent }, file)).toBe(true)
        if (canWriteFile({ scopes: child }, file)) expect(canWriteFile({ scopes: parent }, file)).toBe(true)
      }),
      { numRuns: 3_000 },
    )
  })

  test('a folder is handed on by who holds a folder above it, or reads and writes', () => {
    expect(narrower(['files:a'], ['files:a/b', 'files:a'])).toBe(true)
    expect(narrower(['files:a/b'], ['files:a'])).toBe(false)
    expect(narrower(['files:a'], ['files:ab'])).toBe(false)
    expect(narrower(['read'], ['files:a'])).toBe(false)
    expect(narrower(['read', 'write'], ['files:a'])).toBe(true)
    expect(narrower(['files:'], ['read'])).toBe(false)
    expect(narrower(['admin'], ['admin', 'files:', 'lease'])).toBe(true)
  })
})

describe('patterns', () => {
  test('match as the plain definition says', () => {
    fc.assert(
      fc.property(pattern, id, (sessions, session) => {
        expect(sees({ sessions }, session)).toBe(reference(sessions, session))
      }),
      { numRuns: 5_000 },
    )
  })

  test('that cover another match whatever it matches', () => {
    const filled = fc.tuple(pattern, pattern, fc.array(id, { minLength: 10, maxLength: 10 }))
    fc.assert(
      fc.property(filled, ([parent, child, runs]) => {
        const fills = runs.values()
        const session = child.replaceAll('*', () => fills.next().value ?? '')
        expect(sees({ sessions: child }, session)).toBe(true)
        if (covers(parent, child)) expect(sees({ sessions: parent }, session)).toBe(true)
      }),
      { numRuns: 5_000 },
    )
  })

  test('cover what they should', () => {
    for (const child of ['*', 'a', 'run-*', '*x*']) expect(covers('*', child)).toBe(true)
    expect(covers('run-*', 'run-7')).toBe(true)
    expect(covers('run-*', 'run-7-*')).toBe(true)
    expect(covers('run-*', 'run*')).toBe(false)
    expect(covers('run-7', 'run-*')).toBe(false)
    expect(covers('a*b', 'a*')).toBe(false)
  })
})

/** The definition of a pattern, as a table of prefixes. */
function reference(glob: string, text: string): boolean {
  let row = Array.from({ length: text.length + 1 }, (_, length) => length === 0)
  for (const char of glob) {
    const next: boolean[] = []
    for (let length = 0; length <= text.length; length += 1) {
      const before = length > 0
      next.push(
        char === '*'
          ? row[length] === true || (before && next[length - 1] === true)
          : before && row[length - 1] === true && text[length - 1] === char,
      )
    }
    row = next
  }
  return row[text.length] === true
}
