// Whether an item is what it says: its value has its digest, is canonical, and is of a shape that its kind can have. For items
// that come from elsewhere. Pure: a value that lies apart is handed in.

import { z } from 'zod'
import {
  type Canonical,
  canonical,
  type Json,
  parseJson,
  utf8Length,
  ValueError,
} from '../protocol/canonical.ts'
import { eventValue, type Hashes, valueDigest } from '../protocol/digests.ts'
import { limits } from '../protocol/limits.ts'
import { keyProblem, pathProblem, sha256Pattern, tableNamePattern } from '../protocol/names.ts'
import { fileMode, lane, mediaType } from '../protocol/ops.ts'
import type { RefKind } from '../protocol/refs.ts'
import { ref, seq, sha256, text, timestamp } from '../protocol/values.ts'
import { type Item, toHex } from './page.ts'

/** What an event's text says. */
export interface EventSaid {
  type: string
  lane: string
  key: string | null
  parent: number | null
  /** Null when it lies apart. */
  payload: Canonical | null
  /** What ties a tool call and its result. */
  call: string | null
  /** Of a cut, the event it cuts back to. */
  cut: number | null
}

export type Checked = { problem: string } | { problem: null; event: EventSaid | null }

/** Bytes of a value that lies with its entry: what a row of the object holds, less what else is in it. */
const mostInline = 1_500_000
const saltPattern = /^([0-9a-f]{32})?$/
const inputs = z.array(ref).min(1).max(limits.from)

/** The type of the event with which a revert sets the log back. */
const cutType = 'lares.cut'

/**
 * Checks one item.
 *
 * @param large the canonical text that lies in the blob the item names; null where it names none
 */
export function checkItem(hashes: Hashes, kind: RefKind, item: Item, large: string | null): Checked {
  const problem = keyTrouble(kind, item.key)
  if (problem !== null) return { problem }
  if (!sha256Pattern.test(item.digest) || !saltPattern.test(item.salt))
    return { problem: 'its digest or salt is none' }
  if (item.text !== null && item.text.length * 3 > mostInline && utf8Length(item.text) > mostInline)
    return { problem: 'the value is too large to lie here' }
  if (item.from !== null && !inputs.safeParse(item.from).success)
    return { problem: 'its inputs are no references' }
  if (item.salt === '')
    return isEmptied(item) ? fine(null) : { problem: 'an erased value still holds something' }
  try {
    return kind === 'log' ? checkEvent(hashes, item, large) : checkEntry(hashes, kind, item, large)
  } catch (error) {
    if (error instanceof ValueError) return { problem: error.message }
    throw error
  }
}

function fine(event: EventSaid | null): Checked {
  return { problem: null, event }
}

/** An erased value leaves its digest and nothing else. */
function isEmptied({ text, blob, size, from }: Item): boolean {
  return text === null && blob === null && size === 0 && from === null
}

function checkEntry(hashes: Hashes, kind: RefKind, item: Item, large: string | null): Checked {
  const text = item.blob === null ? item.text : large
  if (text === null || (item.blob !== null && item.text !== null)) return { problem: 'there is no value' }
  const value = canonicalIn(text)
  if (value === undefined) return { problem: 'the value is not in canonical form' }
  if (!hasDigest(hashes, item, text)) return { problem: 'the value does not have its digest' }
  if (kind === 'file') {
    if (item.blob !== null) return { problem: 'a file lies apart' }
    return fileTrouble(value, item.size)
  }
  if (utf8Length(text) !== item.size) return { problem: 'the value has another size' }
  return shapeOf(kind).safeParse(value).success ? fine(null) : { problem: `no ${kind} is like this` }
}

/** As far as whoever reads a value of this kind relies on it. */
function shapeOf(kind: RefKind): z.ZodType {
  switch (kind) {
    case 'memory':
      return memoryShape
    case 'row':
      return rowShape
    case 'view':
      return viewShape
    case 'table':
      return tableShape
    default:
      return anyShape
  }
}

const anyShape = z.unknown()
const memoryShape = z.object({
  text: z.string(),
  tags: z.array(z.string()),
  meta: z.record(z.string(), z.unknown()),
  created_at: z.string(),
})
/** Under `@` a row names the blobs of its cells. */
const rowShape = z.looseObject({ '@': z.array(sha256).optional() })
const viewShape = z.object({ sql: z.string() })
const tableShape = z.looseObject({})

function checkEvent(hashes: Hashes, item: Item, large: string | null): Checked {
  const wrong = { problem: 'no event is like this' }
  // As deep as a payload may be, and the event around it.
  const said = item.text === null ? undefined : (parseJson(item.text) as Json)
  if (!isObject(said)) return wrong
  const fields = eventFields.safeParse(said)
  if (!fields.success || (fields.data.parent ?? 0) >= Number(item.key)) return wrong
  const { payload, ...around } = fields.data
  if (item.blob !== null && payload !== null) return { problem: 'the payload is in two places' }
  const inner = item.blob === null ? canonical(payload) : large
  const inside = inner === null ? undefined : canonicalIn(inner)
  if (inner === null || inside === undefined) return { problem: 'there is no payload in canonical form' }
  // Just found to be canonical.
  const whole = eventValue({ ...around, payload: inner as Canonical })
  const shown = item.blob === null ? whole : eventValue({ ...around, payload: canonical(null) })
  if (shown !== item.text) return { problem: 'the event is not in canonical form' }
  if (!hasDigest(hashes, item, whole)) return { problem: 'the event does not have its digest' }
  if (utf8Length(inner) !== item.size) return { problem: 'the payload has another size' }
  const { type } = around
  const cut = type === cutType ? memberOf(inside, 'to') : null
  if (type === cutType && !(Number.isSafeInteger(cut) && Number(cut) >= 0 && Number(cut) < Number(item.key)))
    return { problem: 'no cut is like this' }
  return fine({
    type,
    lane: around.lane,
    key: around.key ?? null,
    parent: around.parent ?? null,
    payload: item.blob === null ? (inner as Canonical) : null,
    call: callOf(type, inside),
    cut: cut === null ? null : Number(cut),
  })
}

const eventFields = z.strictObject({
  type: text(limits.eventType).min(1),
  lane,
  key: text(limits.eventKey).min(1).optional(),
  parent: seq.optional(),
  payload: z.custom<Json>((value) => value !== undefined),
})

function callOf(type: string, payload: Json): string | null {
  const member = type === 'tool_call' ? 'id' : type === 'tool_result' ? 'call_id' : null
  const call = member === null ? null : memberOf(payload, member)
  return typeof call === 'string' && call !== '' && call.length <= limits.eventKey ? call : null
}

function memberOf(value: Json, name: string): Json | null {
  return isObject(value) && Object.hasOwn(value, name) ? (value[name] ?? null) : null
}

function hasDigest(hashes: Hashes, { salt, digest }: Item, text: string): boolean {
  // Only what is canonical comes this far.
  return toHex(valueDigest(hashes, fromHex(salt), text as Canonical)) === digest
}

/** The value, or undefined when the text is not just as this value is written. */
function canonicalIn(text: string): Json | undefined {
  const value = parseJson(text)
  // What was parsed from JSON is JSON.
  return canonical(value) === text ? (value as Json) : undefined
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function fileTrouble(value: Json, weight: number): Checked {
  const problem = { problem: 'no file is like this' }
  if (!isObject(value)) return problem
  const { blob, mode, mtime, size, type, meta, ...rest } = value
  const sound =
    Object.keys(rest).length === 0 &&
    typeof blob === 'string' &&
    sha256Pattern.test(blob) &&
    fileMode.safeParse(mode).success &&
    (mtime === null || timestamp.safeParse(mtime).success) &&
    mediaType.safeParse(type).success &&
    (meta === undefined || utf8Length(canonical(meta)) <= limits.metaBytes)
  return sound && size === weight ? fine(null) : problem
}

function keyTrouble(kind: RefKind, key: string): string | null {
  switch (kind) {
    case 'log':
      return /^[1-9]\d{0,14}$/.test(key) ? null : 'no event has this number'
    case 'file':
      return pathProblem(key)
    case 'table':
    case 'view':
      return tableNamePattern.test(key) ? null : `no ${kind} has this name`
    case 'row':
      return key.includes('/') ? keyProblem(key) : 'a row is named by its table and its key'
    default:
      return keyProblem(key)
  }
}

function fromHex(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length / 2)
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(text.slice(i * 2, i * 2 + 2), 16)
  return bytes
}
