// Our own SHA-256 must be the world's: compared with the native one at every length where it could go wrong.

import { createHash, createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hashes, hex } from '../src/crypto.ts'
import { shortBytes, shortHmacSha256, shortSha256 } from '../src/sha256.ts'

const nativeSha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const nativeHmac = (key: Uint8Array, text: string) => createHmac('sha256', key).update(text).digest('hex')

describe('short SHA-256', () => {
  it('gives the digests of FIPS 180-4', () => {
    expect(hex(shortSha256(['abc']))).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
    expect(hex(shortSha256([]))).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  })

  it('is the native one at every length it takes, and right beyond', () => {
    for (let length = 0; length <= 3 * shortBytes; length++) {
      const text = 'a'.repeat(length)
      expect(hex(shortSha256([text]))).toBe(nativeSha256(text))
    }
  })

  it('is the native one for any text, however it is cut into parts, bytes and texts', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 60 }), { maxLength: 8 }), (texts) => {
        const parts = texts.map((text, i) => (i % 2 === 0 ? text : new TextEncoder().encode(text)))
        expect(hex(hashes.sha256(...parts))).toBe(nativeSha256(texts.join('')))
      }),
    )
  })

  it('hashes the widest text that counts as short', () => {
    const text = '\u20ac'.repeat(shortBytes)
    expect(hex(hashes.sha256(text))).toBe(nativeSha256(text))
    const key = new Uint8Array(64).fill(255)
    expect(hex(hashes.hmacSha256(key, text))).toBe(nativeHmac(key, text))
  })
})

describe('short HMAC-SHA-256', () => {
  it('is the native one for any key and text', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 64 }),
        fc.string({ unit: 'binary', maxLength: shortBytes }),
        (key, text) => {
          expect(hex(shortHmacSha256(key, text))).toBe(nativeHmac(key, text))
        },
      ),
    )
  })

  it('goes native where a key is longer than a block', () => {
    const key = new Uint8Array(65).fill(7)
    expect(hex(hashes.hmacSha256(key, 'text'))).toBe(nativeHmac(key, 'text'))
  })
})
