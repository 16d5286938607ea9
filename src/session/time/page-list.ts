// The object's own list of its world's pages, kept from snapshot to snapshot: bringing it up to date cuts only the pages in
// which something changed.

import { hashes } from '../../crypto.ts'
import type { EntryKind, RefKind } from '../../protocol/refs.ts'
import { compareBytes } from '../../snapshot/order.ts'
import { cutPages, type Page, type PageRef } from '../../snapshot/page.ts'
import type { World } from '../world.ts'
import { itemsFrom, pagedKinds } from './items.ts'
import { touchedBetween } from './journal.ts'

export interface ListedPage extends PageRef {
  /** True when R2 has it. */
  stored: boolean
}

/** The pages of the head, brought up to date. One synchronous step. */
export function headPages(world: World): ListedPage[] {
  const version = world.head.version
  const listed = listedVersion(world)
  if (listed !== version) {
    world.storage.transactionSync(() => {
      for (const kind of pagedKinds) {
        if (listed === null) replaceAll(world, kind)
        else if (kind === 'log') recutLog(world)
        else recut(world, kind, touchedKeys(world, kind, listed))
      }
      world.setMeta('paged', String(version))
    })
  }
  return readList(world)
}

/** The pages of any version: the kept list where it speaks of it, else cut anew. */
export function pagesAt(world: World, version: number): ListedPage[] {
  if (version === world.head.version) return headPages(world)
  if (version === listedVersion(world)) return readList(world)
  const pages: ListedPage[] = []
  for (const kind of pagedKinds) {
    for (const { first, count, name } of cutPages(hashes, kind, itemsFrom(world, kind, '', version))) {
      pages.push({ kind, first, count, name, stored: false })
    }
  }
  return pages
}

/** Remembers that R2 has a page, if the list still names it. */
export function markStored({ sql }: World, { kind, first, name }: PageRef): void {
  sql.exec(
    'UPDATE pages SET stored = 1 WHERE kind = ? AND first = ? AND name = ?',
    kind,
    sortable(kind, first),
    name,
  )
}

function listedVersion(world: World): number | null {
  const paged = world.meta('paged')
  return paged === null ? null : Number(paged)
}

function readList({ sql }: World): ListedPage[] {
  return sql
    .exec<{ kind: RefKind; first: string; count: number; name: string; stored: number }>(
      'SELECT * FROM pages ORDER BY kind, first',
    )
    .toArray()
    .map(({ kind, first, count, name, stored }) => ({
      kind,
      first: kind === 'log' ? String(Number(first)) : first,
      count,
      name,
      stored: stored === 1,
    }))
}

function touchedKeys(world: World, kind: EntryKind, since: number): string[] {
  const filter = { kinds: [kind], prefix: '' }
  return touchedBetween(world, since, world.head.version, filter).map(({ key }) => key)
}

function replaceAll(world: World, kind: RefKind): void {
  world.sql.exec('DELETE FROM pages WHERE kind = ?', kind)
  for (const page of cutPages(hashes, kind, itemsFrom(world, kind, '', world.head.version)))
    insert(world, page, new Set())
}

/** Only the log's last page can change, and new ones follow it. */
function recutLog(world: World): void {
  const last = world.sql
    .exec<{ first: string }>("SELECT first FROM pages WHERE kind = 'log' ORDER BY first DESC LIMIT 1")
    .toArray()[0]
  const start = last === undefined ? '' : String(Number(last.first))
  replaceRange(
    world,
    'log',
    start,
    null,
    cutPages(hashes, 'log', itemsFrom(world, 'log', start, world.head.version)),
  )
}

/** Cuts anew from each page that holds a touched key, until the borders are the old ones again. */
function recut(world: World, kind: EntryKind, touched: readonly string[]): void {
  const { sql } = world
  let index = 0
  for (let key = touched[index]; key !== undefined; key = touched[index]) {
    const start =
      sql
        .exec<{ first: string }>(
          'SELECT first FROM pages WHERE kind = ? AND first <= ? ORDER BY first DESC LIMIT 1',
          kind,
          key,
        )
        .toArray()[0]?.first ?? ''
    const { pages, end } = cutUntilOldBorder(world, kind, start)
    replaceRange(world, kind, start, end, pages)
    if (end === null) return
    const at = index
    index = touched.findIndex((later, i) => i > at && compareBytes(later, end) >= 0)
    if (index === -1) return
  }
}

function cutUntilOldBorder(
  world: World,
  kind: EntryKind,
  start: string,
): { pages: Page[]; end: string | null } {
  const { sql } = world
  const pages: Page[] = []
  for (const page of cutPages(hashes, kind, itemsFrom(world, kind, start, world.head.version))) {
    pages.push(page)
    if (!page.natural) continue
    const last = page.items.at(-1)?.key ?? ''
    const next = sql
      .exec<{ key: string | null }>(
        'SELECT min(key) AS key FROM entries WHERE kind = ? AND key > ?',
        kind,
        last,
      )
      .one().key
    if (next === null) break
    const border = sql.exec('SELECT 1 FROM pages WHERE kind = ? AND first = ?', kind, next).toArray()
    if (border.length > 0) return { pages, end: next }
  }
  return { pages, end: null }
}

/** Puts new pages in place of those that begin from `start` on and before `end`; null for no end. */
function replaceRange(
  world: World,
  kind: RefKind,
  start: string,
  end: string | null,
  pages: Iterable<Page>,
): void {
  const { sql } = world
  const from = sortable(kind, start)
  const known = new Set<string>()
  const old = sql.exec<{ first: string; name: string; stored: number }>(
    'SELECT first, name, stored FROM pages WHERE kind = ?1 AND first >= ?2 AND (?3 IS NULL OR first < ?3)',
    kind,
    from,
    end,
  )
  for (const { name, stored } of old) if (stored === 1) known.add(name)
  sql.exec(
    'DELETE FROM pages WHERE kind = ?1 AND first >= ?2 AND (?3 IS NULL OR first < ?3)',
    kind,
    from,
    end,
  )
  for (const page of pages) insert(world, page, known)
}

function insert({ sql }: World, { kind, first, count, name }: Page, known: ReadonlySet<string>): void {
  const stored = known.has(name) ? 1 : 0
  sql.exec(
    'INSERT INTO pages (kind, first, count, name, stored) VALUES (?, ?, ?, ?, ?)',
    kind,
    sortable(kind, first),
    count,
    name,
    stored,
  )
}

function sortable(kind: RefKind, first: string): string {
  return kind === 'log' ? (first === '' ? '0' : first).padStart(16, '0') : first
}
