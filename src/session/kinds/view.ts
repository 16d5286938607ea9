// Views: queries with a name, to be used in other queries like a table.

import { canonical } from '../../protocol/canonical.ts'
import { viewProblem } from '../query/views.ts'
import { Refusal, type Transaction } from '../transaction.ts'
import type { Applied, Handlers, OperationOf } from './kind.ts'
import { refuseTakenName } from './table.ts'

const subject = (op: { view: string }) => ({ kind: 'view', key: op.view }) as const

export const viewHandlers: Handlers<'view.define' | 'view.drop'> = {
  'view.define': { apply: define, subject },
  'view.drop': { apply: drop, subject },
}

function define(tx: Transaction, op: OperationOf<'view.define'>): Applied {
  refuseTakenName(tx, op.view, 'view')
  const problem = viewProblem(tx.world, op.view, op.sql)
  if (problem !== null) throw new Refusal('sql_error', problem, { pointer: '/sql' })
  return { result: {}, created: tx.put('view', op.view, canonical({ sql: op.sql })) }
}

function drop(tx: Transaction, op: OperationOf<'view.drop'>): Applied {
  if (!tx.remove('view', op.view)) {
    if (op.must) throw new Refusal('not_found', `there is no view ${op.view}`)
    tx.untouched(`view:${op.view}`)
  }
  return { result: {} }
}
