// SHA-256 and HMAC, synchronous: the commit must not await between its checks and its writes. Native in workerd; a few
// microseconds a call, where JavaScript implementations take far longer.

import { createHash, createHmac, hkdfSync } from 'node:crypto'
import type { Hashes } from './protocol/digests.ts'

export const hashes: Hashes = {
  sha256(...parts) {
    const hash = createHash('sha256')
    for (const part of parts) hash.update(part)
    return hash.digest()
  },
  hmacSha256(key, text) {
    return createHmac('sha256', key).update(text).digest()
  },
}

/** The key from which a fleet's salts are derived: HKDF-SHA-256 of the digest secret, with the fleet as its info. */
export function saltKeyOf(secret: string, fleet: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', `lares salt key v1\n${fleet}`, 32))
}

export function hex(bytes: ArrayBuffer | Uint8Array): string {
  return Buffer.from(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes)).toString('hex')
}

export function unhex(text: string): Uint8Array {
  return Buffer.from(text, 'hex')
}
