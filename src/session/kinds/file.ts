// The row side of files: a path names a blob that this session holds, with its type, mode and time. Bytes lie in R2.

import { typeOf } from '../../media/types.ts'
import { canonical } from '../../protocol/canonical.ts'
import { pathProblem } from '../../protocol/names.ts'
import { heldBlob } from '../blobs.ts'
import type { Entry } from '../store.ts'
import { Refusal, type Transaction } from '../transaction.ts'
import type { Applied, Handlers, OperationOf } from './kind.ts'

const defaultType = 'application/octet-stream'

export const fileHandlers: Handlers<'file.put' | 'file.copy' | 'file.move' | 'file.delete'> = {
  'file.put': { apply: put, subject: (op) => ({ kind: 'file', key: op.path }) },
  // The entry that `if` protects is the one that is written: the target.
  'file.copy': {
    apply: (tx, op) => transfer(tx, op, false),
    subject: (op) => ({ kind: 'file', key: op.to }),
  },
  'file.move': { apply: (tx, op) => transfer(tx, op, true), subject: (op) => ({ kind: 'file', key: op.to }) },
  'file.delete': {
    apply: remove,
    subject: (op) => (op.path === undefined ? null : { kind: 'file', key: op.path }),
  },
}

function put(tx: Transaction, op: OperationOf<'file.put'>): Applied {
  const held = heldBlob(tx.world.sql, op.blob)
  // A hash is not a password: only bytes that came through this session, or that it holds already, can be named.
  if (!held) throw new Refusal('invalid', 'this session does not hold this blob', { pointer: '/blob' })
  const { media } = held
  const { blob, type = typeOf(media.type, op.path) ?? defaultType, mode, mtime = null } = op
  const meta: unknown = op.meta === undefined ? media.meta : JSON.parse(op.meta)
  const value = {
    blob,
    mode,
    mtime,
    size: held.size,
    type,
    ...(meta === undefined ? {} : { meta }),
  }
  return { result: {}, created: tx.put('file', op.path, canonical(value), held.size) }
}

function transfer(
  tx: Transaction,
  op: OperationOf<'file.copy'> | OperationOf<'file.move'>,
  move: boolean,
): Applied {
  if (op.path !== undefined) {
    const entry = tx.readable('file', op.path)
    if (entry === null) throw new Refusal('not_found', 'there is no such file', { pointer: '/path' })
    const created = place(tx, entry, op.to, move)
    return { result: { count: 1 }, created }
  }
  const { prefix = '', to } = op
  const sources = tx.keys('file', prefix)
  if (move && overlaps(prefix, to))
    throw new Refusal('invalid', 'a folder cannot be moved into itself', { pointer: '/to' })
  // A copy into what is being copied must not copy its own copies: everything is read before anything is written.
  const entries = overlaps(prefix, to) ? readAll(tx, sources) : eachEntry(tx, sources)
  for (const entry of entries) place(tx, entry, to + entry.key.slice(prefix.length), move)
  if (sources.length === 0) tx.untouched(`file:${prefix}`)
  return { result: { count: sources.length } }
}

function* eachEntry(tx: Transaction, paths: readonly string[]): Generator<Entry> {
  for (const path of paths) {
    const entry = tx.readable('file', path)
    if (entry !== null) yield entry
  }
}

function readAll(tx: Transaction, paths: readonly string[]): Entry[] {
  return [...eachEntry(tx, paths)]
}

function overlaps(prefix: string, to: string): boolean {
  return prefix !== to && (to.startsWith(prefix) || prefix.startsWith(to))
}

function place(tx: Transaction, entry: Entry, to: string, move: boolean): boolean {
  const problem = pathProblem(to)
  if (problem !== null) throw new Refusal('invalid', problem, { pointer: '/to' })
  if (entry.key === to) return false
  if (entry.text === null) throw new Error('a file entry is always inline')
  const created = tx.put('file', to, entry.text, entry.size)
  if (move) tx.remove('file', entry.key)
  return created
}

function remove(tx: Transaction, op: OperationOf<'file.delete'>): Applied {
  const paths = op.path === undefined ? tx.keys('file', op.prefix ?? '') : [op.path]
  let count = 0
  for (const path of paths) if (tx.remove('file', path)) count++
  if (count === 0) {
    if (op.must) throw new Refusal('not_found', 'there is no such file')
    tx.untouched(`file:${op.path ?? op.prefix ?? ''}`)
  }
  return { result: { count } }
}
