// The log: events in the order in which they were accepted. Tool calls and results are events with a meaning of their own:
// a result must answer a call that the log has.

import { each } from '../each.ts'
import { cutType, isActive } from '../time/active.ts'
import { Refusal, type Transaction } from '../transaction.ts'
import type { Applied, Handlers, OperationOf } from './kind.ts'

export const logHandlers: Handlers<'log.append'> = {
  'log.append': { apply: append, subject: () => null },
}

function append(tx: Transaction, op: OperationOf<'log.append'>): Applied {
  if (op.parent !== undefined && op.parent > tx.seq) {
    throw new Refusal('invalid', `the log has no event ${op.parent}`, { pointer: '/parent' })
  }
  if (op.type === cutType) throw new Refusal('invalid', 'this type is kept for reverts', { pointer: '/type' })
  if (op.key !== undefined) {
    const taken = newestActive(tx, 'key = ?', op.key)
    if (taken !== null) {
      throw new Refusal('exists', 'the log has an event with this key', { pointer: '/key', seq: taken })
    }
  }
  if (
    op.type === 'tool_result' &&
    newestActive(tx, "call IS NOT NULL AND type = 'tool_call' AND call = ?", op.call ?? '') === null
  ) {
    throw new Refusal('unknown_call', 'the log has no such tool call', { pointer: '/payload/call_id' })
  }
  return { result: { seq: tx.append(op) } }
}

/** The newest event of the active log that meets a condition; what a revert has cut away does not count. */
function newestActive({ world: { sql }, seq }: Transaction, condition: string, value: string): number | null {
  const rows = sql.exec<{ seq: number }>(`SELECT seq FROM events WHERE ${condition} ORDER BY seq DESC`, value)
  for (const row of each(rows)) if (isActive(sql, row.seq, seq)) return row.seq
  return null
}
