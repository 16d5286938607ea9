// What changed between two versions, from the journal: it costs what changed, not what there is.

import type { EntryKind, RefKind } from '../../protocol/refs.ts'
import { compareKeys } from '../../snapshot/order.ts'
import { type CommitRow, changesOf, commitColumns } from '../history.ts'
import type { World } from '../world.ts'
import { eraseOperation } from './erased-ref.ts'

export interface Touched {
  kind: RefKind
  key: string
}

/** Which references a caller asks about. */
export interface Filter {
  /** Null for every kind. */
  kinds: readonly RefKind[] | null
  prefix: string
}

export const everything: Filter = { kinds: null, prefix: '' }

/** Every reference that a version after `low` and up to `high` touched, once each, in order of kind and key. */
export function touchedBetween({ sql }: World, low: number, high: number, filter: Filter): Touched[] {
  const rows = sql.exec<CommitRow>(
    `SELECT ${commitColumns} FROM commits WHERE version > ? AND version <= ? ORDER BY version`,
    low,
    high,
  )
  const refs = new Map<string, Touched>()
  for (const row of rows) {
    for (const { op, ref } of changesOf(sql, row)) {
      // An erasure changes no digest: the world is what it was, with less to read.
      if (op === eraseOperation || refs.has(ref)) continue
      const touched = splitRef(ref)
      if (passes(touched, filter)) refs.set(ref, touched)
    }
  }
  return [...refs.values()].sort((a, b) =>
    a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : compareKeys(a.kind, a.key, b.key),
  )
}

/** A reference that `formatRef` wrote: it has no version, and its key may hold any character. */
export function splitRef(ref: string): Touched {
  const cut = ref.indexOf(':')
  // What `formatRef` wrote begins with a kind.
  return { kind: ref.slice(0, cut) as RefKind, key: ref.slice(cut + 1) }
}

export function isEntry(touched: Touched): touched is Touched & { kind: EntryKind } {
  return touched.kind !== 'log'
}

function passes({ kind, key }: Touched, { kinds, prefix }: Filter): boolean {
  if (kinds !== null && !kinds.includes(kind)) return false
  return prefix === '' || (kind !== 'log' && key.startsWith(prefix))
}
