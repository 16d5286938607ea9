// SHA-256 and HMAC, synchronous: the commit must not await between its checks and its writes. Short texts are hashed here,
// long ones natively; which is which is a matter of speed alone.

import { createHash, createHmac, hkdfSync } from 'node:crypto'
import type { Hashes } from './protocol/digests.ts'
import { shortBytes, shortHmacSha256, shortSha256 } from './sha256.ts'

export const hashes: Hashes = {
  sha256(...parts) {
    let length = 0
    for (const part of parts) length += part.length
    if (length <= shortBytes) return shortSha256(parts)
    const hash = createHash('sha256')
    for (const part of parts) hash.update(part)
    return hash.digest()
  },
  hmacSha256(key, text) {
    if (text.length <= shortBytes && key.length <= 64) return shortHmacSha256(key, text)
    return createHmac('sha256', key).update(text).digest()
  },
}

/** The key from which a fleet's salts are derived: HKDF-SHA-256 of the digest secret, with the fleet as its info. */
export function saltKeyOf(secret: string, fleet: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', `lares salt key v1\n${fleet}`, 32))
}

export function hex(bytes: ArrayBuffer | Uint8Array): string {
  const view = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes)
  // The runtime has ES2026's method; TypeScript's ES2024 library, which also Node must satisfy, does not know it.
  return (view as Uint8Array & { toHex(): string }).toHex()
}

export function unhex(text: string): Uint8Array {
  return Buffer.from(text, 'hex')
}
