// SHA-256 (FIPS 180-4) of short messages. A native hash object takes longer to make, and to collect, than a few hundred
// bytes take to hash here: for a usual event three times as long, and every append needs four hashes. What is longer is
// for the native one.

/** Bytes up to which this is faster. */
export const shortBytes = 512

/** The digest of the parts, one after the other; in UTF-8 they must not be longer than three times `shortBytes`. */
export function shortSha256(parts: readonly (string | Uint8Array)[]): Uint8Array {
  return digest(initial, 0, parts)
}

/** HMAC (RFC 2104) with a key of at most 64 bytes, which must stay as it is: what it does to a text is remembered. */
export function shortHmacSha256(key: Uint8Array, text: string): Uint8Array {
  const known = keys.get(key)
  const { inner, outer } = known ?? prepare(key)
  return digest(outer, 64, [digest(inner, 64, [text])])
}

/** The states after a key's two padded blocks, from which every text's hash goes on. */
interface Prepared {
  inner: Int32Array
  outer: Int32Array
}

const keys = new WeakMap<Uint8Array, Prepared>()

function prepare(key: Uint8Array): Prepared {
  const prepared = { inner: stateAfter(key, 0x36), outer: stateAfter(key, 0x5c) }
  keys.set(key, prepared)
  return prepared
}

function stateAfter(key: Uint8Array, padding: number): Int32Array {
  message.fill(padding, 0, 64)
  for (const [i, byte] of key.entries()) message[i] = padding ^ byte
  state.set(initial)
  compress(0)
  return state.slice()
}

/** Goes on from a state that some whole blocks have led to. */
function digest(from: Int32Array, before: number, parts: readonly (string | Uint8Array)[]): Uint8Array {
  let length = 0
  for (const part of parts) {
    if (typeof part === 'string') length += encoder.encodeInto(part, message.subarray(length)).written
    else {
      message.set(part, length)
      length += part.length
    }
  }
  const end = pad(length, before)
  state.set(from)
  for (let block = 0; block < end; block += 64) compress(block)
  const bytes = new Uint8Array(32)
  for (let i = 0; i < 32; i++) bytes[i] = word(state, i >> 2) >>> (24 - 8 * (i & 3))
  return bytes
}

// Used by one call at a time: nothing here waits.
const message = new Uint8Array(3 * shortBytes + 256)
const encoder = new TextEncoder()
const state = new Int32Array(8)
const schedule = new Int32Array(64)

/** A bit, zeros, and the length of all in bits, up to whole blocks; answers where they end. */
function pad(length: number, before: number): number {
  const end = (length + 9 + 63) & ~63
  message.fill(0, length, end)
  message[length] = 0x80
  const bits = (before + length) * 8
  message[end - 1] = bits
  message[end - 2] = bits >>> 8
  message[end - 3] = bits >>> 16
  return end
}

function compress(block: number): void {
  const w = schedule
  for (let i = 0, p = block; i < 16; i++, p += 4) {
    w[i] = (byte(p) << 24) | (byte(p + 1) << 16) | (byte(p + 2) << 8) | byte(p + 3)
  }
  for (let i = 16; i < 64; i++) {
    const x = word(w, i - 15)
    const y = word(w, i - 2)
    const s0 = rotated(x, 7) ^ rotated(x, 18) ^ (x >>> 3)
    const s1 = rotated(y, 17) ^ rotated(y, 19) ^ (y >>> 10)
    w[i] = word(w, i - 16) + s0 + word(w, i - 7) + s1
  }
  let a = word(state, 0)
  let b = word(state, 1)
  let c = word(state, 2)
  let d = word(state, 3)
  let e = word(state, 4)
  let f = word(state, 5)
  let g = word(state, 6)
  let h = word(state, 7)
  for (let i = 0; i < 64; i++) {
    const s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + word(constants, i) + word(w, i)) | 0
    const s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  // One by one, as above: a loop over a list of them takes as long as half a block.
  state[0] = word(state, 0) + a
  state[1] = word(state, 1) + b
  state[2] = word(state, 2) + c
  state[3] = word(state, 3) + d
  state[4] = word(state, 4) + e
  state[5] = word(state, 5) + f
  state[6] = word(state, 6) + g
  state[7] = word(state, 7) + h
}

function rotated(x: number, by: number): number {
  return (x >>> by) | (x << (32 - by))
}

// The compiler can't know that these indexes are within; the fallbacks are never taken.
function word(words: Int32Array, i: number): number {
  return words[i] ?? 0
}
function byte(i: number): number {
  return message[i] ?? 0
}

// The first 32 bits of the fractional parts of the square roots of the first 8 primes and the cube roots of the first 64.
const primes = firstPrimes(64)
const initial = Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)))
const constants = Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)))

function firstPrimes(count: number): number[] {
  const found: number[] = []
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime !== 0)) found.push(n)
  return found
}

function fraction(root: number): number {
  return ((root % 1) * 2 ** 32) | 0
}
