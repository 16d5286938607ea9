// Memory: texts an agent wants to find again, with tags, meta, an expiry, and a vector that its caller or the edge made.

import { hashes, hex } from '../../crypto.ts'
import { type Canonical, canonical, type Json } from '../../protocol/canonical.ts'
import { limits } from '../../protocol/limits.ts'
import { type MemoryValue, memorySettingsKey } from '../../protocol/memory.ts'
import { mergePatch } from '../../protocol/merge-patch.ts'
import { hasExpired } from '../recall/memories.ts'
import { givenVector, stillFits } from '../recall/settings.ts'
import { currentEntry } from '../store.ts'
import { rfc3339 } from '../time.ts'
import { Refusal, type Transaction } from '../transaction.ts'
import type { World } from '../world.ts'
import type { Applied, Handlers, OperationOf } from './kind.ts'

const isThere = (world: World, key: string): boolean => read(world, key, Date.now()) !== null

export const memoryHandlers: Handlers<'memory.add' | 'memory.update' | 'memory.forget' | 'memory.configure'> =
  {
    'memory.add': {
      apply: add,
      subject: (op) => (op.id === undefined ? null : { kind: 'memory', key: op.id }),
      isThere,
    },
    'memory.update': { apply: update, subject: (op) => ({ kind: 'memory', key: op.id }), isThere },
    'memory.forget': { apply: forget, subject: (op) => ({ kind: 'memory', key: op.id }), isThere },
    'memory.configure': {
      apply: (tx, { settings }) => ({
        result: {},
        created: tx.put('state', memorySettingsKey, canonical(settings)),
      }),
      subject: () => ({ kind: 'state', key: memorySettingsKey }),
    },
  }

function add(tx: Transaction, op: OperationOf<'memory.add'>): Applied {
  sweep(tx, op)
  const id = op.id ?? freshId(tx)
  if (read(tx.world, id, tx.at) !== null)
    throw new Refusal('exists', 'there is a memory with this id', { pointer: '/id' })
  const { text, tags = [], meta, pinned, expires_at } = op
  const vector = op.vector === undefined ? stillFits(tx.world, op.embedding) : givenVector(tx, id, op.vector)
  const value: MemoryValue = {
    text,
    tags,
    meta: meta === undefined ? {} : JSON.parse(meta),
    created_at: rfc3339(tx.at),
    ...(pinned ? { pinned } : {}),
    ...(expires_at === undefined ? {} : { expires_at }),
    ...(vector === null ? {} : { vector }),
  }
  tx.put('memory', id, fitting(value))
  return { result: { id }, created: true }
}

function update(tx: Transaction, op: OperationOf<'memory.update'>): Applied {
  const before = read(tx.world, op.id, tx.at)
  if (before === null) throw new Refusal('not_found', 'there is no such memory', { pointer: '/id' })
  const { pinned: _p, expires_at: _e, vector: _v, ...kept } = before
  const text = op.text ?? before.text
  const pinned = op.pinned ?? before.pinned
  const expires_at = op.expires_at === undefined ? before.expires_at : op.expires_at
  const vector = vectorAfter(tx, op, before)
  const value: MemoryValue = {
    ...kept,
    text,
    tags: op.tags ?? before.tags,
    meta: op.meta === undefined ? before.meta : patched(before.meta, op.meta),
    ...(pinned ? { pinned: true as const } : {}),
    ...(expires_at == null ? {} : { expires_at }),
    ...(vector === null ? {} : { vector }),
  }
  tx.put('memory', op.id, fitting(value))
  return { result: { id: op.id } }
}

/** A vector is of a text: with another text it does not stay. */
function vectorAfter(
  tx: Transaction,
  op: OperationOf<'memory.update'>,
  before: MemoryValue,
): NonNullable<MemoryValue['vector']> | null {
  if (op.vector === null) return null
  if (op.vector !== undefined) return givenVector(tx, op.id, op.vector)
  if (op.text === undefined || op.text === before.text) return before.vector ?? null
  return stillFits(tx.world, op.embedding)
}

/** A patch that is an object, onto an object: what comes of it is one. */
function patched(meta: MemoryValue['meta'], patch: Canonical): MemoryValue['meta'] {
  const after = mergePatch(meta as Json, JSON.parse(patch)) as MemoryValue['meta']
  if (Buffer.byteLength(canonical(after)) <= limits.metaBytes) return after
  throw new Refusal('too_large', 'the patched meta is too large', {
    limit: limits.metaBytes,
    pointer: '/meta',
  })
}

function forget(tx: Transaction, { id, must }: OperationOf<'memory.forget'>): Applied {
  const there = read(tx.world, id, tx.at) !== null
  if (!there && must) throw new Refusal('not_found', 'there is no such memory')
  if (!tx.remove('memory', id)) tx.untouched(`memory:${id}`)
  return { result: { id } }
}

/** A memory that is there; null too for one that has expired and was not swept yet. */
function read(world: World, id: string, now: number): MemoryValue | null {
  const entry = currentEntry(world.sql, 'memory', id)
  if (entry?.text == null) return null
  const value: MemoryValue = JSON.parse(entry.text)
  return hasExpired(value, now) ? null : value
}

function fitting(value: MemoryValue): Canonical {
  const text = canonical(value)
  if (Buffer.byteLength(text) <= limits.inlineBytes) return text
  throw new Refusal('too_large', 'the memory is too large', { limit: limits.inlineBytes, pointer: '/text' })
}

/**
 * An id for a memory that was given none: it sorts by version and by place within the commit, follows from nothing but the
 * commit, and ends in a mark of the session, so that a fork and its parent name different memories differently.
 */
function freshId(tx: Transaction): string {
  const { version, world } = tx
  const digits = version.toString(36)
  const { fleet, session } = world.identity
  const mark = hex(hashes.sha256('lares memory ids\n', fleet, '\n', session)).slice(0, 5)
  for (let n = 0; ; n++) {
    const id = `m${digits.length.toString(36)}${digits}${n.toString(36).padStart(2, '0')}-${mark}`
    if (!tx.changes.has(`memory:${id}`) && currentEntry(world.sql, 'memory', id) === null) return id
  }
}

/** Forgets memories that have expired, a few with each that is added: no version is made for it alone. */
function sweep(tx: Transaction, op: OperationOf<'memory.add'>): void {
  const expired = tx.world.sql
    .exec<{ key: string }>(
      'SELECT key FROM memory_docs WHERE expires IS NOT NULL AND expires <= ? ORDER BY expires LIMIT 10',
      tx.at,
    )
    .toArray()
  if (expired.length === 0) return
  tx.begin('memory.expire', undefined)
  for (const { key } of expired) tx.remove('memory', key)
  tx.begin(op.op, op.from)
}
