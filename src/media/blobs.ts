// Bytes into R2 under their SHA-256, verified, before any row names them.

import { hashes, hex } from '../crypto.ts'
import { type Failure, fail } from '../protocol/errors.ts'
import { blobKey } from './keys.ts'

export interface StoredBlob {
  readonly ok: true
  sha256: string
  size: number
}

/**
 * Stores bytes; the same bytes again are no new object.
 *
 * @param contentDigest RFC 9530 `Content-Digest`, checked where it names sha-256
 * @param expected the SHA-256 the caller says they have, lowercase hex
 */
export async function putBlob(
  env: { BLOBS: R2Bucket },
  fleet: string,
  bytes: ArrayBuffer | Uint8Array,
  contentDigest?: string,
  expected?: string,
): Promise<StoredBlob | Failure> {
  const view = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes)
  const sha256 = hex(hashes.sha256(view))
  const declared = declaredDigest(contentDigest)
  if (declared === 'malformed')
    return fail('invalid', 'Content-Digest is not of the form sha-256=:BASE64:', {
      pointer: 'Content-Digest',
    })
  if ((declared !== null && declared !== sha256) || (expected !== undefined && expected !== sha256)) {
    return fail('digest_mismatch', `the bytes have the SHA-256 ${sha256}`)
  }
  await env.BLOBS.put(blobKey(fleet, sha256), view, { sha256 })
  return { ok: true, sha256, size: view.byteLength }
}

/** The sha-256 of a `Content-Digest`, in hex; null when it names none. */
function declaredDigest(header: string | undefined): string | null | 'malformed' {
  if (header === undefined) return null
  const member = header.split(',').find((one) => /^\s*sha-256\s*=/i.test(one))
  if (member === undefined) return /^\s*[\w-]+\s*=/.test(header) ? null : 'malformed'
  const match = /^\s*sha-256\s*=\s*:([A-Za-z0-9+/]{43}=):\s*$/i.exec(member)
  return match?.[1] === undefined ? 'malformed' : Buffer.from(match[1], 'base64').toString('hex')
}
