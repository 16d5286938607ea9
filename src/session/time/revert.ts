// Revert: one commit that makes the world what it was at an earlier version. Nothing is lost and no number comes twice.

import { canonical } from '../../protocol/canonical.ts'
import type { Outcome } from '../../protocol/errors.ts'
import type { RefKind } from '../../protocol/refs.ts'
import { type Header, type Made, transact } from '../commit.ts'
import { seqAt } from '../read-log.ts'
import type { At, Caller } from '../rpc.ts'
import { rebuildIndexes } from '../tables/indexes.ts'
import { resolveAt } from '../time.ts'
import type { Transaction } from '../transaction.ts'
import type { World } from '../world.ts'
import { cutType, recordCut } from './active.ts'
import { type Filter, isEntry, touchedBetween } from './journal.ts'

export interface RevertRequest extends Header {
  to: NonNullable<At>
  filter: Filter
}

/** One commit that takes back what came after a version. */
export function revert(
  world: World,
  caller: Caller,
  request: RevertRequest,
): Outcome<Made & { changed: number }> {
  let version = 0
  return transact(world, caller, request, {
    // Not before the commit looks for an earlier answer: what was reverted to may be gone by the time of a retry.
    check: () => {
      const resolved = resolveAt(world, request.to)
      if (!resolved.ok) return resolved
      version = resolved.version
      return null
    },
    apply: (tx) => {
      tx.begin('revert', undefined)
      const changed = revertTo(tx, version, request.filter)
      rebuildIndexes(world)
      return { changed }
    },
  })
}

/** Brings everything the filter lets through back to a version. Answers how many entries and events that changed. */
function revertTo(tx: Transaction, version: number, filter: Filter): number {
  const { world } = tx
  let changed = 0
  for (const touched of touchedBetween(world, version, world.head.version, filter)) {
    if (isEntry(touched) && tx.restore(touched.kind, touched.key, version)) changed++
  }
  if (takesLog(filter)) changed += cutLog(tx, seqAt(world, version))
  return changed
}

/** A prefix speaks of keys; the log has none, so it is set back only when it is asked for, or when all is. */
function takesLog({ kinds, prefix }: Filter): boolean {
  return kinds === null ? prefix === '' : kinds.includes('log' satisfies RefKind)
}

function cutLog(tx: Transaction, to: number): number {
  const cutAway = tx.seq - to
  if (cutAway === 0) return 0
  const seq = tx.append({ type: cutType, lane: 'main', payload: canonical({ to }) })
  recordCut(tx.world, seq, to)
  return cutAway
}
