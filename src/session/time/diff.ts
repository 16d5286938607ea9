// Diff of two versions of one session: the references the journal names between them, as they were at each.

import type { Outcome } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { formatRef, type RefKind } from '../../protocol/refs.ts'
import { valuePiece } from '../pieces.ts'
import { type EventRow, eventColumns, eventPieces } from '../read-log.ts'
import type { At, Piece } from '../rpc.ts'
import { type Entry, entryAt } from '../store.ts'
import { resolveAt } from '../time.ts'
import type { World } from '../world.ts'
import { type Filter, isEntry, type Touched, touchedBetween } from './journal.ts'

export interface DiffQuery {
  from: At
  to: At
  filter: Filter
  limit: number
  /** The reference the page before ended with. */
  cursor: string | null
}

export interface DiffItem {
  ref: string
  kind: RefKind
  change: 'added' | 'changed' | 'removed'
  /** JSON; null on the side where there is nothing. */
  before: Piece[] | null
  after: Piece[] | null
}

export interface DiffPage {
  version: number
  items: DiffItem[]
  next: string | null
}

export function diffVersions(world: World, query: DiffQuery): Outcome<DiffPage> {
  const from = resolveAt(world, query.from)
  if (!from.ok) return from
  const to = resolveAt(world, query.to)
  if (!to.ok) return to
  const [low, high] = [Math.min(from.version, to.version), Math.max(from.version, to.version)]
  const items: DiffItem[] = []
  let bytes = 0
  let past = query.cursor === null
  for (const touched of touchedBetween(world, low, high, query.filter)) {
    const ref = formatRef(touched.kind, touched.key)
    if (!past) {
      past = ref === query.cursor
      continue
    }
    const item = compare(world, ref, touched, from.version, to.version)
    if (item === null) continue
    const last = items.at(-1)
    if (last !== undefined && (items.length >= query.limit || bytes > limits.pageBytes)) {
      return { ok: true, version: to.version, items, next: last.ref }
    }
    items.push(item)
    for (const piece of [...(item.before ?? []), ...(item.after ?? [])])
      bytes += typeof piece === 'string' ? piece.length : 0
  }
  return { ok: true, version: to.version, items, next: null }
}

function compare(world: World, ref: string, touched: Touched, from: number, to: number): DiffItem | null {
  if (!isEntry(touched)) return compareEvent(world.sql, ref, Number(touched.key), from < to)
  const before = entryAt(world.sql, touched.kind, touched.key, from)
  const after = entryAt(world.sql, touched.kind, touched.key, to)
  if (before === null && after === null) return null
  if (before !== null && after !== null && sameDigest(before, after)) return null
  const change = before === null ? 'added' : after === null ? 'removed' : 'changed'
  return { ref, kind: touched.kind, change, before: shown(before), after: shown(after) }
}

/** An event lies on one side alone: the log only grows, and going back in time takes events away. */
function compareEvent(sql: SqlStorage, ref: string, seq: number, forward: boolean): DiffItem | null {
  const row = sql.exec<EventRow>(`SELECT ${eventColumns} FROM events WHERE seq = ?`, seq).toArray()[0]
  if (!row) return null
  const pieces = eventPieces(row)
  return forward
    ? { ref, kind: 'log', change: 'added', before: null, after: pieces }
    : { ref, kind: 'log', change: 'removed', before: pieces, after: null }
}

function sameDigest(a: Entry, b: Entry): boolean {
  return Buffer.from(a.digest).equals(Buffer.from(b.digest))
}

function shown(entry: Entry | null): Piece[] | null {
  return entry === null ? null : [valuePiece(entry) ?? 'null']
}
