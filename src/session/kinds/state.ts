// Structured state: a JSON value a key, set whole, patched, or counted up.

import { hex } from '../../crypto.ts'
import { type Canonical, canonical, type Json } from '../../protocol/canonical.ts'
import { limits } from '../../protocol/limits.ts'
import { mergePatch } from '../../protocol/merge-patch.ts'
import { entryStamp } from '../store.ts'
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
  if (op.patched !== undefined) {
    const { base, value } = op.patched
    const stamp = entryStamp(tx.world.sql, 'state', op.key)
    if ((stamp === null ? null : hex(stamp.digest)) !== base) throw tooLargeHere()
    return put(tx, op.key, value)
  }
  const before = current(tx, op.key)
  const after = mergePatch(before, JSON.parse(op.patch))
  return put(tx, op.key, fitting(after))
}

function add(tx: Transaction, op: OperationOf<'state.add'>): Applied {
  const entry = tx.readable('state', op.key)
  // A value that lies in R2 is longer than any number.
  const before: Json = entry === null ? 0 : entry.text === null ? null : JSON.parse(entry.text)
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
  const entry = tx.readable('state', key)
  if (entry === null) return undefined
  if (entry.text === null) throw tooLargeHere()
  return JSON.parse(entry.text)
}

function fitting(value: Json): Canonical {
  const text = canonical(value)
  if (Buffer.byteLength(text) > limits.inlineBytes) throw tooLargeHere()
  return text
}

/** Says to the edge, not to the client: read the value, patch it, and come again with `patched`. */
function tooLargeHere(): Refusal {
  return new Refusal('too_large', 'this value is patched outside the object', { limit: limits.inlineBytes })
}
