// The active log. A revert does not take events away; it appends a cut, and the active log is then what it was at the cut's
// target, followed by what comes after the cut.

import type { World } from '../world.ts'

/** The type of the event that cuts. Only a revert appends it. */
export const cutType = 'lares.cut'

/** Events `from` to `to`, both included. */
export interface Range {
  from: number
  to: number
}

/** The active events up to `newest`, as ranges in ascending order. */
export function activeRanges(sql: SqlStorage, newest: number): Range[] {
  const ranges: Range[] = []
  let top = newest
  while (top > 0) {
    const cut = lastCut(sql, top)
    const from = cut === null ? 1 : cut.seq + 1
    if (from <= top) ranges.push({ from, to: top })
    if (cut === null) break
    top = cut.to_seq
  }
  return ranges.reverse()
}

/** Whether an event is part of the active log whose newest event is `newest`. */
export function isActive(sql: SqlStorage, seq: number, newest: number): boolean {
  return activeRanges(sql, newest).some(({ from, to }) => from <= seq && seq <= to)
}

/** Remembers a cut that has just been appended. */
export function recordCut({ sql }: World, seq: number, to: number): void {
  sql.exec('INSERT INTO cuts (seq, to_seq) VALUES (?, ?)', seq, to)
}

function lastCut(sql: SqlStorage, top: number): { seq: number; to_seq: number } | null {
  return (
    sql
      .exec<{ seq: number; to_seq: number }>(
        'SELECT seq, to_seq FROM cuts WHERE seq <= ? ORDER BY seq DESC LIMIT 1',
        top,
      )
      .toArray()[0] ?? null
  )
}
