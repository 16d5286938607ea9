// What is hashed, byte for byte. docs/digests.md is this file in words. Pure: the hash functions are handed in, because
// the object has fast synchronous ones and a browser has only others.

import { type Canonical, canonical, type Json } from './canonical.ts'

export interface Hashes {
  sha256(...parts: (string | Uint8Array)[]): Uint8Array
  hmacSha256(key: Uint8Array, text: string): Uint8Array
}

export const saltBytes = 16
export const digestBytes = 32

/** The digest before version 1: 32 zero bytes, as hex. */
export const genesis = '0'.repeat(64)

/** The salt of a value: HMAC-SHA-256 of its canonical text under the fleet's salt key, the first 16 bytes. */
export function saltOf(hashes: Hashes, saltKey: Uint8Array, text: Canonical): Uint8Array {
  return hashes.hmacSha256(saltKey, text).subarray(0, saltBytes)
}

/** SHA-256 over the salt and the canonical text. */
export function valueDigest(hashes: Hashes, salt: Uint8Array, text: Canonical): Uint8Array {
  return hashes.sha256(salt, text)
}

/** One thing a commit did to one reference; `digest` is null where the commit took the value away. */
export interface Change {
  op: string
  ref: string
  digest: string | null
  from?: readonly string[]
}

export interface CommitHeader {
  /** Hex digest of the version before; `genesis` before version 1. */
  previous: string
  version: number
  /** RFC 3339, UTC, three decimals: as the API shows it. */
  at: string
  actor: string
  message: string | null
  cause: Json
}

/**
 * The chain: SHA-256 over the canonical header and then each change's line (see `changeLine`), every line ended by `\n`.
 *
 * A change's line is the array `[op, ref, digest]`, or `[op, ref, digest, [from…]]` when it names its inputs.
 */
export function commitDigest(hashes: Hashes, header: CommitHeader, lines: readonly Canonical[]): Uint8Array {
  let text = `${headerLine(header)}\n`
  for (const line of lines) text += `${line}\n`
  return hashes.sha256(text)
}

/** A commit's first line. */
export function headerLine({ previous, version, at, actor, message, cause }: CommitHeader): Canonical {
  return canonical({ previous, version, at, actor, message, cause })
}

/** A change's line, which is also how the journal keeps it. */
export function changeLine({ op, ref, digest, from }: Change): Canonical {
  // A large commit has a line for each of its rows, and for texts alone JSON's own writer gives the canonical form.
  if (from === undefined && ref.isWellFormed()) return JSON.stringify([op, ref, digest]) as Canonical
  return canonical(from === undefined || from.length === 0 ? [op, ref, digest] : [op, ref, digest, from])
}

/** An event's value, as its digest covers it: everything of it that its author chose. */
export function eventValue(event: {
  type: string
  lane: string
  payload: Canonical
  key?: string | undefined
  parent?: number | undefined
}): Canonical {
  // Keys stand in canonical order, so that the (long) payload is spliced in and not parsed again.
  const key = event.key === undefined ? '' : `"key":${canonical(event.key)},`
  const parent = event.parent === undefined ? '' : `"parent":${event.parent},`
  const head = `{${key}"lane":${canonical(event.lane)},${parent}`
  // The cast is sound: each part is canonical and the keys are sorted: key, lane, parent, payload, type.
  return `${head}"payload":${event.payload},"type":${canonical(event.type)}}` as Canonical
}
