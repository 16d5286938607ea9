// The digest a client declares for the bytes it sends, RFC 9530. Pure.

/** The sha-256 of a `Content-Digest`, in hex; null when it names none. */
export function declaredDigest(header: string | undefined): string | null | 'malformed' {
  if (header === undefined) return null
  const member = header.split(',').find((one) => /^\s*sha-256\s*=/i.test(one))
  if (member === undefined) return /^\s*[\w-]+\s*=/.test(header) ? null : 'malformed'
  const match = /^\s*sha-256\s*=\s*:([A-Za-z0-9+/]{43}=):\s*$/i.exec(member)
  return match?.[1] === undefined ? 'malformed' : Buffer.from(match[1], 'base64').toString('hex')
}
