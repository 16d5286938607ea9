// Structured state: a JSON value a key, set whole, patched, or counted up.

import { type Canonical, canonical, type Json } from '../../protocol/canonical.ts'
import { limits } from '../../protocol/limits.ts'
import { mergePatch } from '../../protocol/merge-patch.ts'
import { Refusal, type Transaction } from '../transaction.ts'
import type { Applied, Handlers, OperationOf } from './kind.ts'

const subject = (op: { key: string }) => ({ kind: 'state', key: op.key }) as const

export const stateHandlers: Handlers<'state.set' | 'state.patch' | 'state.add' | 'state.delete'> = {
  'state.set': { apply: (tx, op) => put(tx, op.key, op.value), subject },
  'state.patch': { apply: patch, subject },
  'state.add': { apply: add, subject },
  'state.delete': { apply: remove, subject },
}

function put(tx: Transaction, key: string, value: OperationOf<'state.set'>['value']): Applied {
  return { result: {}, created: tx.put('state', key, value) }
}

function patch(tx: Transaction, op: OperationOf<'state.patch'>): Applied {
  const before = current(tx, op.key)
  const after = mergePatch(before, JSON.parse(op.patch))
  return put(tx, op.key, fitting(after))
}

function add(tx: Transaction, op: OperationOf<'state.add'>): Applied {
  const before = current(tx, op.key) ?? 0
  if (typeof before !== 'number')
    throw new Refusal('invalid', 'the value is not a number', { pointer: '/key' })
  const sum = before + op.by
  // Past this, whole numbers would silently stop counting.
  if (!Number.isFinite(sum) || (Number.isInteger(sum) && !Number.isSafeInteger(sum))) {
    throw new Refusal('invalid', 'the sum cannot be kept exactly', { pointer: '/by' })
  }
  return put(tx, op.key, canonical(sum))
}

function remove(tx: Transaction, op: OperationOf<'state.delete'>): Applied {
  if (!tx.remove('state', op.key)) {
    if (op.must) throw new Refusal('not_found', 'there is no such key')
    tx.untouched(`state:${op.key}`)
  }
  return { result: {} }
}

function current(tx: Transaction, key: string): Json | undefined {
  const entry = tx.get('state', key)
  if (entry === null) return undefined
  if (entry.text === null)
    throw new Refusal('too_large', 'a value this large can only be set whole', { limit: limits.inlineBytes })
  return JSON.parse(entry.text)
}

function fitting(value: Json): Canonical {
  const text = canonical(value)
  if (Buffer.byteLength(text) > limits.inlineBytes) {
    throw new Refusal('too_large', 'the patched value is too large; set it whole', {
      limit: limits.inlineBytes,
    })
  }
  return text
}
