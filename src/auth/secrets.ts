// Every secret computation of this folder. From the one signing secret a key is derived for each purpose, so that
// what was signed for one can never pass for another.

import { Buffer } from 'node:buffer'
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Env } from '../env.ts'

export type Purpose = 'api-key' | 'session-token' | 'root-key'

/**
 * The 32-byte key for one purpose.
 * @throws when the operator has set no signing secret: with an empty one anybody could sign.
 */
export function signingKey(env: Env, purpose: Purpose): Uint8Array {
  if (!env.LARES_SIGNING_SECRET) throw new Error('LARES_SIGNING_SECRET is not set')
  return createHmac('sha256', env.LARES_SIGNING_SECRET).update(`lares/v1/${purpose}`).digest()
}

/** HMAC-SHA-256 over the parts, each with its length before it so that no two lists of parts read the same. */
export function tagOf(key: Uint8Array, ...parts: readonly (string | Uint8Array)[]): Uint8Array {
  const mac = createHmac('sha256', key)
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part, 'utf8') : part
    mac.update(`${bytes.length}:`).update(bytes)
  }
  return mac.digest()
}

/** SHA-256 in hex: what is stored of a secret. */
export function hashOf(secret: string): string {
  return createHash('sha256').update(secret, 'utf8').digest('hex')
}

/** Compares in a time that depends on neither text: over digests, so that not even the length shows. */
export function sameSecret(a: string, b: string): boolean {
  return timingSafeEqual(
    createHash('sha256').update(a, 'utf8').digest(),
    createHash('sha256').update(b, 'utf8').digest(),
  )
}

/** Compares two tags in constant time. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
