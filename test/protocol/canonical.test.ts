import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonical, parseJson, pointer, ValueError } from '../../src/protocol/canonical.ts'

/** JSON as text may hold it: any string keys, `__proto__` among them; no lone surrogates, no numbers that lose. */
const json = fc.jsonValue({ stringUnit: 'grapheme', maxDepth: 5 })

function refusal(act: () => unknown): { message: string; at: string } {
  try {
    act()
  } catch (error) {
    if (error instanceof ValueError) return { message: error.message, at: pointer(error.path) }
    throw error
  }
  throw new Error('it was taken')
}

describe('canonical text', () => {
  it('is what another implementation of RFC 8785 writes', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(canonical(value)).toBe(canonicalize(value))
      }),
    )
  })

  it('parses back to an equal value, and is its own canonical text', () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = canonical(value)
        expect(canonical(parseJson(text))).toBe(text)
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it('does not depend on the order in which members were written', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.integer()), (object) => {
        const turned = Object.fromEntries(Object.entries(object).reverse())
        expect(canonical(turned)).toBe(canonical(object))
      }),
    )
  })

  it('writes the numbers of RFC 8785, appendix B', () => {
    const samples: [bigint, string][] = [
      [0x0000000000000000n, '0'],
      [0x8000000000000000n, '0'],
      [0x0000000000000001n, '5e-324'],
      [0x8000000000000001n, '-5e-324'],
      [0x7fefffffffffffffn, '1.7976931348623157e+308'],
      [0x4340000000000000n, '9007199254740992'],
      [0xc340000000000000n, '-9007199254740992'],
      [0x4430000000000000n, '295147905179352830000'],
      [0x44b52d02c7e14af5n, '9.999999999999997e+22'],
      [0x44b52d02c7e14af6n, '1e+23'],
      [0x444b1ae4d6e2ef50n, '1e+21'],
      [0x3eb0c6f7a0b5ed8dn, '0.000001'],
      [0x41b3de4355555553n, '333333333.3333332'],
      [0xbecbf647612f3696n, '-0.0000033333333333333333'],
      [0x43143ff3c1cb0959n, '1424953923781206.2'],
    ]
    for (const [bits, text] of samples) {
      const view = new DataView(new ArrayBuffer(8))
      view.setBigUint64(0, bits)
      expect(canonical(view.getFloat64(0))).toBe(text)
    }
  })

  it('sorts keys by UTF-16 code units, where code points would sort otherwise', () => {
    const object = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\u{1f600}': 5, '\u0080': 6, ö: 7 }
    expect(canonical(object)).toBe('{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}')
  })

  it('escapes what must be escaped, and nothing else', () => {
    expect(canonical('\u0000\b\t\n\f\r\u001f"\\/\u007f\u2028é')).toBe(
      '"\\u0000\\b\\t\\n\\f\\r\\u001f\\"\\\\/\u007f\u2028é"',
    )
  })

  it('keeps six different things different', () => {
    const texts = [0, false, '', null, [], {}].map(canonical)
    expect(new Set(texts).size).toBe(6)
    expect(refusal(() => canonical(undefined)).message).toBe('a value is required')
  })

  it('holds a member called __proto__ as any other', () => {
    const value = parseJson('{"a":{"__proto__":{"x":1},"constructor":2}}')
    expect(canonical(value)).toBe('{"a":{"__proto__":{"x":1},"constructor":2}}')
    expect(({} as { x?: number }).x).toBeUndefined()
  })

  it('refuses what would not survive, with a pointer to it', () => {
    expect(refusal(() => canonical({ a: [1, 'x\ud99cy'] })).at).toBe('/a/1')
    expect(refusal(() => canonical({ 'a/b': { '~': Number.NaN } })).at).toBe('/a~1b/~0')
    expect(refusal(() => canonical([Number.POSITIVE_INFINITY])).at).toBe('/0')
    expect(refusal(() => canonical({ a: { '\udc00': 1 } })).at).toBe('/a/\ufffd')
    for (const value of [1n, () => 1, Symbol('x'), new Date(), new Map(), new Uint8Array(1)]) {
      expect(refusal(() => canonical({ v: value })).at).toBe('/v')
    }
  })

  it('goes a hundred levels deep and no further', () => {
    const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth))
    expect(canonical(nested(100))).toHaveLength(200)
    expect(refusal(() => canonical(nested(101))).at).toBe('/0'.repeat(100))
    const objects = JSON.parse(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`)
    expect(canonical(objects)).toContain('1')
    expect(refusal(() => canonical({ a: objects })).at).toBe('/a'.repeat(100))
  })
})

describe('strict parsing', () => {
  const kept = [
    '0',
    '-0',
    '1',
    '9007199254740991',
    '9007199254740992',
    '-9007199254740992',
    '9007199254740994',
    '1e21',
    '1E+2',
    '100000000000000000000',
    '1e23',
    '0.1',
    '1.5e-7',
    '123456789.12345678901234567890',
    '1.7976931348623157e308',
    '5e-324',
    '0e999',
    '0.000e-999',
    '1.0',
    '10.00e-1',
    '"9007199254740993"',
  ]
  it.each(kept)('keeps %s', (text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text))
  })

  const lost = [
    '9007199254740993',
    '-9007199254740993',
    '9223372036854775807',
    '18446744073709551615',
    '340282366920938463463374607431768211455',
    '9007199254740993.0',
    '9007199254740993e0',
    '9.007199254740993e15',
    '90071992547409930e-1',
    '1e400',
    '-1e400',
    '1e-400',
    `1${'0'.repeat(400)}`,
    `${'9'.repeat(300)}`,
    '123456789012345678901234567890',
  ]
  it.each(lost)('refuses %s, which would come back as another number', (text) => {
    expect(refusal(() => parseJson(text)).at).toBe('')
    expect(refusal(() => parseJson(`{"a":[0,{"b":${text}}]}`)).at).toBe('/a/1/b')
  })

  it('keeps exactly the powers of two that a double holds, and refuses their neighbours', () => {
    for (const n of [2n ** 53n, 2n ** 63n, 2n ** 64n, 2n ** 127n]) {
      // Beyond 2^53 the canonical text is the shortest that reads back, and may denote another integer.
      const same = BigInt(Number(n)) === n && canonical(Number(n)) === String(n)
      if (same) expect(parseJson(String(n))).toBe(Number(n))
      else expect(refusal(() => parseJson(String(n))).at).toBe('')
      expect(refusal(() => parseJson(String(n + 1n))).at).toBe('')
    }
  })

  it('never lets an integer come back as another, whatever it is and however it is spelt', () => {
    const spelt = fc
      .tuple(
        fc.bigInt({ min: -(2n ** 130n), max: 2n ** 130n }).filter((n) => n !== 0n),
        fc.nat(3),
        fc.boolean(),
      )
      .map(([n, zeros, exponent]) => ({
        n,
        text: exponent
          ? `${n}${'0'.repeat(zeros)}e-${zeros}`
          : zeros === 0
            ? `${n}`
            : `${n}.${'0'.repeat(zeros)}`,
      }))
    fc.assert(
      fc.property(spelt, ({ n, text }) => {
        let value: unknown
        try {
          value = parseJson(text)
        } catch {
          expect(Number.isSafeInteger(Number(n))).toBe(false)
          return
        }
        expect(BigInt(toDigits(canonical(value)))).toBe(n)
      }),
      { numRuns: 500 },
    )
  })

  it('points at the number even under empty keys, beside equal numbers that are text, and after __proto__', () => {
    expect(refusal(() => parseJson('{"":{"":9007199254740993}}')).at).toBe('//')
    expect(refusal(() => parseJson('[{"a":"9007199254740993"},{"a":9007199254740993}]')).at).toBe('/1/a')
    expect(refusal(() => parseJson('{"__proto__":{"x":9007199254740993}}')).at).toBe('/__proto__/x')
  })

  it('takes the last of members with one name, as JSON.parse does', () => {
    expect(parseJson('{"a":1,"b":0,"a":2}')).toEqual({ a: 2, b: 0 })
  })

  it('refuses what is not JSON', () => {
    for (const text of [
      '',
      ' ',
      '{',
      '[1,]',
      '{"a":1,}',
      "{'a':1}",
      '01',
      '+1',
      '.5',
      '1.',
      'NaN',
      'Infinity',
      '-',
      'nul',
      '"\n"',
      '\ufeff1',
      '1 2',
      '// x\n1',
      'undefined',
    ]) {
      expect([text, refusal(() => parseJson(text)).message]).toEqual([text, 'not valid JSON'])
    }
  })

  it('refuses hostile depth without recursing into it, and is not fooled by brackets in strings', () => {
    for (const depth of [109, 10_000, 1_000_000]) {
      expect(refusal(() => parseJson('['.repeat(depth))).message).toContain('nested deeper')
      expect(refusal(() => parseJson('{"a":'.repeat(depth))).message).toContain('nested deeper')
    }
    expect(parseJson(JSON.stringify({ a: '[{"'.repeat(10_000) }))).toEqual({ a: '[{"'.repeat(10_000) })
    expect(parseJson(`[${'[],'.repeat(10_000)}[]]`)).toHaveLength(10_001)
  })
})

/** A canonical number written out: `1.5e+21` as digits. */
function toDigits(text: string): string {
  const [, sign = '', head = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e\+(\d+))?$/.exec(text) ?? []
  return sign + head + fraction.padEnd(Number(power), '0')
}
