// API keys: `lares_FLEET_ID_SECRET`. The secret ends in a tag over all that stands before it, so a forged key is
// refused by arithmetic alone and nobody can make an object wake by guessing.

import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import type { Env } from '../env.ts'
import { isFleetName, isId, newId } from './names.ts'
import { hashOf, sameBytes, signingKey, tagOf } from './secrets.ts'

export interface ApiKey {
  readonly fleet: string
  readonly id: string
  /** SHA-256 of the whole key, in hex: all that is ever stored of it. */
  readonly hash: string
}

/** A new key of a fleet. The text is shown once; only its hash is to be kept. */
export function newKey(env: Env, fleet: string, now: number): ApiKey & { readonly key: string } {
  const id = newId(now)
  const random = randomBytes(RANDOM_BYTES)
  const secret = Buffer.concat([random, keyTag(env, fleet, id, random)]).toString('base64url')
  const key = `${HEAD}${fleet}_${id}_${secret}`
  return { key, fleet, id, hash: hashOf(key) }
}

/** What a genuine key says; null for anything else. That the key still stands is the fleet's to say. */
export function readKey(env: Env, text: string): ApiKey | null {
  if (!text.startsWith(HEAD)) return null
  const afterFleet = text.indexOf('_', HEAD.length)
  const afterId = text.indexOf('_', afterFleet + 1)
  if (afterFleet < 0 || afterId < 0) return null
  const fleet = text.slice(HEAD.length, afterFleet)
  const id = text.slice(afterFleet + 1, afterId)
  // The secret is base64url and may hold `_` itself: it is all that is left.
  const secret = text.slice(afterId + 1)
  if (!isFleetName(fleet) || !isId(id) || !SECRET.test(secret)) return null
  const bytes = Buffer.from(secret, 'base64url')
  const tag = keyTag(env, fleet, id, bytes.subarray(0, RANDOM_BYTES))
  if (!sameBytes(tag, bytes.subarray(RANDOM_BYTES))) return null
  return { fleet, id, hash: hashOf(text) }
}

const HEAD = 'lares_'
const RANDOM_BYTES = 32
const TAG_BYTES = 16
// 48 bytes are 64 digits with no bit to spare, so each key has one spelling.
const SECRET = /^[A-Za-z0-9_-]{64}$/

function keyTag(env: Env, fleet: string, id: string, random: Uint8Array): Uint8Array {
  return tagOf(signingKey(env, 'api-key'), fleet, id, random).subarray(0, TAG_BYTES)
}
