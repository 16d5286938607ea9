// The log: events in the order in which they were accepted. Tool calls and results are events with a meaning of their own:
// a result must answer a call that the log has.

import { Refusal, type Transaction } from '../transaction.ts'
import type { Applied, Handlers, OperationOf } from './kind.ts'

export const logHandlers: Handlers<'log.append'> = {
  'log.append': { apply: append, subject: () => null },
}

function append(tx: Transaction, op: OperationOf<'log.append'>): Applied {
  const { sql } = tx.world
  if (op.parent !== undefined && op.parent > tx.seq) {
    throw new Refusal('invalid', `the log has no event ${op.parent}`, { pointer: '/parent' })
  }
  if (op.key !== undefined) {
    const taken = sql.exec<{ seq: number }>('SELECT seq FROM events WHERE key = ?', op.key).toArray()[0]
    if (taken)
      throw new Refusal('exists', 'the log has an event with this key', { pointer: '/key', seq: taken.seq })
  }
  if (op.type === 'tool_result') {
    const call = sql
      .exec("SELECT 1 FROM events WHERE type = 'tool_call' AND call = ? LIMIT 1", op.call ?? '')
      .toArray()
    if (call.length === 0)
      throw new Refusal('unknown_call', 'the log has no such tool call', { pointer: '/payload/call_id' })
  }
  return { result: { seq: tx.append(op) } }
}
