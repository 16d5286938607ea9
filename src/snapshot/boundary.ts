// Where pages end. A border depends on the key beside it and on nothing before it, so a change moves only the borders around
// it, and equal worlds are cut alike whatever their history. Content-defined chunking, with keys in place of bytes.

/**
 * Entries of a page on average. A change costs a page: at 64, a hundred changes among a hundred thousand entries rewrite a
 * sixteenth of the pages; at 256 they would rewrite a quarter.
 */
const average = 64
/** A page ends here in any case, so that chosen keys cannot make one without end. */
export const mostEntries = 256
/** And here, counted in characters of values, so that a page can be held in memory. */
export const mostChars = 1024 * 1024

/** True when a page ends after this key: 32-bit FNV-1a over its UTF-8, mixed by the finaliser of MurmurHash3. */
export function endsPage(key: string): boolean {
  return mix(fnv1a(encoder.encode(key))) % average === 0
}

const encoder = new TextEncoder()

function fnv1a(bytes: Uint8Array): number {
  let hash = 0x811c9dc5
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash >>> 0
}

function mix(hash: number): number {
  let h = hash
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
