// A blob as text, where it is some.

/** Bytes at hand, or where in R2 they are. */
type Placed = { size: number; place: { bytes: Uint8Array } | { key: string; start: number } }

/** The blob's text; null when it is none (not UTF-8, or with a NUL in it), or when its bytes are missing. */
export async function readText(env: { BLOBS: R2Bucket }, { size, place }: Placed): Promise<string | null> {
  if ('bytes' in place) return decode(place.bytes)
  if (size === 0) return ''
  const object = await env.BLOBS.get(place.key, { range: { offset: place.start, length: size } })
  return object === null ? null : decode(await object.arrayBuffer())
}

function decode(bytes: ArrayBuffer | Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return text.includes('\0') ? null : text
  } catch {
    return null
  }
}
