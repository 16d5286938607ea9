// Pages: a run of a snapshot's items in order, named by what they are and not by how they came to be.

import { canonical } from '../protocol/canonical.ts'
import type { Hashes } from '../protocol/digests.ts'
import { formatRef, type RefKind } from '../protocol/refs.ts'
import { endsPage, mostChars, mostEntries } from './boundary.ts'

/** One entry or event as a page holds it. */
export interface Item {
  /** An entry's key, or an event's seq in decimal. */
  key: string
  /** Hex. */
  digest: string
  /** Hex; empty once the value is erased. */
  salt: string
  /** Canonical text of the value; of an event, of all that its digest covers. Null where it is in R2, or erased. */
  text: string | null
  /** Where a large value or payload lies: its SHA-256, and its bytes. */
  blob: string | null
  size: number
  from: string[] | null
  /** Where in R2 its blobs lie. */
  places?: Place[]
}

export type Place = [sha256: string, key: string, start: number, size: number]

/** A page in a manifest. */
export interface PageRef {
  kind: RefKind
  /** The key of its first item. */
  first: string
  count: number
  /** Hex. */
  name: string
}

export interface Page extends PageRef {
  items: Item[]
  /** True when it ends where its last key says so, and not because it was full: cutting can begin anew behind it. */
  natural: boolean
}

/** Cuts items, given in order, into pages. */
export function* cutPages(hashes: Hashes, kind: RefKind, items: Iterable<Item>): Generator<Page> {
  const full = kind === 'log' ? eventsPerPage : mostEntries
  let page: Item[] = []
  let chars = 0
  for (const item of items) {
    page.push(item)
    chars += item.text?.length ?? 0
    // A log's pages are ranges of seq: appending never moves a border.
    const natural = kind !== 'log' && endsPage(item.key)
    if (!natural && page.length < full && chars <= mostChars) continue
    yield finish(hashes, kind, page, natural)
    page = []
    chars = 0
  }
  if (page.length > 0) yield finish(hashes, kind, page, false)
}

const eventsPerPage = 256

function finish(hashes: Hashes, kind: RefKind, items: Item[], natural: boolean): Page {
  const first = items[0]?.key ?? ''
  return { kind, first, count: items.length, name: pageName(hashes, kind, items), items, natural }
}

/** SHA-256, as hex, over the canonical line `[ref, digest]` of each item. Erasing a value leaves it as it is. */
export function pageName(
  hashes: Hashes,
  kind: RefKind,
  items: Iterable<Pick<Item, 'key' | 'digest'>>,
): string {
  let text = ''
  for (const { key, digest } of items) text += `${canonical([formatRef(kind, key), digest])}\n`
  return toHex(hashes.sha256(text))
}

/** A page's bytes: a JSON line for each item. */
export function writePage(items: readonly Item[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join('')
}

/** @throws when the text is not a page */
export function readPage(text: string): Item[] {
  const lines = text.split('\n')
  if (lines.pop() !== '') throw new Error('a page ends with a line break')
  return lines.map((line) => {
    const item: unknown = JSON.parse(line)
    if (!isItem(item)) throw new Error('a line of a page is no item')
    return item
  })
}

function isItem(value: unknown): value is Item {
  if (typeof value !== 'object' || value === null) return false
  const item = value as Partial<Record<keyof Item, unknown>>
  return (
    typeof item.key === 'string' &&
    isHex(item.digest) &&
    (item.salt === '' || isHex(item.salt)) &&
    (item.text === null || typeof item.text === 'string') &&
    (item.blob === null || isHex(item.blob)) &&
    Number.isSafeInteger(item.size) &&
    (item.places === undefined || (Array.isArray(item.places) && item.places.every(isPlace))) &&
    (item.from === null || (Array.isArray(item.from) && item.from.every((ref) => typeof ref === 'string')))
  )
}

function isPlace(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 4) return false
  const [sha256, key, start, size]: unknown[] = value
  return isHex(sha256) && typeof key === 'string' && Number.isSafeInteger(start) && Number.isSafeInteger(size)
}

function isHex(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]+$/.test(value)
}

export function toHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0')
  return text
}
