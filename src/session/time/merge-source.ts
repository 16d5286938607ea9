// The other side of a merge: what this session changed since a version, handed over a page at a time as it was at one version.

import { hex } from '../../crypto.ts'
import type { Outcome } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { type EntryKind, formatRef } from '../../protocol/refs.ts'
import { inParts, partRows } from '../each.ts'
import { isErased } from '../erased.ts'
import { type EventRow, eventColumns, seqAt } from '../read-log.ts'
import { type Entry, entryAt } from '../store.ts'
import { resolveAt } from '../time.ts'
import type { Sealed } from '../transaction.ts'
import type { Origin, World } from '../world.ts'
import { activeRanges } from './active.ts'
import { everything, isEntry, touchedBetween } from './journal.ts'

export interface MergeSource {
  session: string
  version: number
  digest: string
  ancestry: Origin[]
}

export interface MergeChange {
  kind: EntryKind
  key: string
  /** Digest at the base; null for absent. */
  before: string | null
  /** A file's row at the base, for merging by line; null for other kinds. */
  was: string | null
  /** As it is now; null for absent. */
  after: (Sealed & { inputs: string | null }) | null
}

export interface MergeEvent {
  seq: number
  type: string
  lane: string
  key: string | null
  parent: number | null
  call: string | null
  sealed: Sealed
}

const itemsPerPage = 2000

export function mergeSource({ identity, head }: World): Outcome<MergeSource> {
  return {
    ok: true,
    session: identity.session,
    version: head.version,
    digest: head.digest,
    ancestry: identity.ancestry,
  }
}

export function mergeChanges(
  world: World,
  base: number,
  version: number,
  after: string | null,
): Outcome<{ items: MergeChange[]; next: string | null }> {
  // Of a base whose past is no longer kept, what was taken away since would look as if it had never been there.
  const kept = resolveAt(world, { version: Math.max(base, world.identity.floor) })
  if (!kept.ok) return kept
  const items: MergeChange[] = []
  let bytes = 0
  let past = after === null
  for (const touched of touchedBetween(world, base, version, everything)) {
    const ref = formatRef(touched.kind, touched.key)
    if (!past) {
      past = ref === after
      continue
    }
    if (!isEntry(touched)) continue
    const was = entryAt(world.sql, touched.kind, touched.key, base)
    const is = entryAt(world.sql, touched.kind, touched.key, version)
    const before = was === null ? null : hex(was.digest)
    if (before === (is === null ? null : hex(is.digest))) continue
    items.push({
      kind: touched.kind,
      key: touched.key,
      before,
      was: touched.kind === 'file' ? (was?.text ?? null) : null,
      after: is === null ? null : sealedEntry(is),
    })
    bytes += is?.text?.length ?? 0
    if (items.length >= itemsPerPage || bytes > limits.pageBytes) return { ok: true, items, next: ref }
  }
  return { ok: true, items, next: null }
}

/** The active events after the base: what was reverted does not come along. */
export function mergeEvents(
  world: World,
  base: number,
  version: number,
  after: number,
): Outcome<{ items: MergeEvent[]; next: number | null }> {
  const items: MergeEvent[] = []
  let bytes = 0
  const low = Math.max(after, seqAt(world, base))
  for (const { from, to } of activeRanges(world.sql, seqAt(world, version))) {
    if (to <= low) continue
    const rows = inParts<EventRow & { call: string | null }>(partRows, (last) =>
      world.sql.exec<EventRow & { call: string | null }>(
        `SELECT ${eventColumns}, call FROM events WHERE seq >= ? AND seq <= ? ORDER BY seq LIMIT ?`,
        last === null ? Math.max(from, low + 1) : last.seq + 1,
        to,
        partRows,
      ),
    )
    for (const row of rows) {
      // What was erased here does not go elsewhere.
      if (isErased(row)) continue
      const { seq, type, lane, key, parent, call, text, blob, size, salt, digest } = row
      const sealed = { text, blob, size, salt: new Uint8Array(salt), digest: new Uint8Array(digest) }
      items.push({ seq, type, lane, key, parent, call, sealed })
      bytes += text?.length ?? 0
      if (items.length >= itemsPerPage || bytes > limits.pageBytes) return { ok: true, items, next: seq }
    }
  }
  return { ok: true, items, next: null }
}

function sealedEntry({ text, blob, size, salt, digest, inputs }: Entry): Sealed & { inputs: string | null } {
  return { text, blob, size, salt: new Uint8Array(salt), digest: new Uint8Array(digest), inputs }
}
