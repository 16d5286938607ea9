// The commit protocol, in the order of the design: lease epoch, idempotency key, expected version, each operation's own
// condition, apply all, chain digest. One synchronous step: nothing can come between a check and the write it guards.

import { hashes, hex } from '../crypto.ts'
import { changeLine, commitDigest } from '../protocol/digests.ts'
import { type Failure, fail, type Outcome } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import { earlierAnswer, keepAnswer } from './answers.ts'
import { holdBlobs } from './blobs.ts'
import { handlerOf } from './kinds/index.ts'
import { admit } from './lease.ts'
import { checkNamed } from './offers.ts'
import type { Caller, CommitRequest, Committed, WireOperation } from './rpc.ts'
import { entryStamp } from './store.ts'
import { rfc3339 } from './time.ts'
import { Refusal, Transaction } from './transaction.ts'
import { watchers } from './watchers.ts'
import type { World } from './world.ts'

/** Most characters of changes in one row. A commit that changes more (a folder deleted) spreads over further rows. */
const changesPerRow = 500_000

/** What makes one version, whatever it does to the world. */
export interface Work<T> {
  /** True for a write that may pass without the lease. */
  outsider?: boolean
  /** True for what no lease may hold up: an erasure. */
  unfenced?: boolean
  /** Conditions of its own, on the world before it. */
  check?(): Failure | null
  /** Changes the world; may throw a Refusal, and then nothing has happened. */
  apply(tx: Transaction): T
}

export type Header = Pick<CommitRequest, 'message' | 'cause' | 'expect'>

export interface Made {
  version: number
  /** RFC 3339. */
  at: string
  digest: string
}

/** Makes one version of everything asked, or changes nothing and says why. */
export function commit(world: World, caller: Caller, request: CommitRequest): Outcome<Committed> {
  return transact(world, caller, request, {
    outsider: request.ops.every(isInbox),
    check: () => checkNamed(world, caller, request) ?? checkConditions(world, request.ops),
    apply: (tx) => {
      holdBlobs(world, request.blobs, tx.at)
      tx.bound(limits.changes, limits.changeChars)
      return applyAll(tx, request.ops)
    },
  })
}

/** What a caller who may write was told before; for work that has to ask others before it can commit. */
export function toldBefore<T extends object>(world: World, caller: Caller): Outcome<Made & T> | null {
  const admitted = admit(world, caller.lease)
  return 'code' in admitted ? admitted : earlierAnswer<Made & T>(world, caller.idempotency)
}

/** The commit protocol, for any work: lease, idempotency, expected version, conditions, apply, digest. */
export function transact<T extends object>(
  world: World,
  caller: Caller,
  header: Header,
  work: Work<T>,
): Outcome<Made & T> {
  const admitted = work.unfenced ? { held: false } : admit(world, caller.lease, work.outsider)
  if ('code' in admitted) return admitted
  const earlier = earlierAnswer<Made & T>(world, caller.idempotency)
  if (earlier) return earlier
  const refused = checkExpected(world, header.expect) ?? work.check?.()
  if (refused) return refused
  return write(world, caller, header, admitted.held, work)
}

function write<T extends object>(
  world: World,
  caller: Caller,
  header: Header,
  held: boolean,
  work: Work<T>,
): Outcome<Made & T> {
  // Time is a label that never runs backwards within a session.
  const at = Math.max(Date.now(), world.head.at)
  const tx = new Transaction(world, at, caller.actor)
  try {
    return world.storage.transactionSync(() => {
      const applied = work.apply(tx)
      for (const watch of watchers) watch(tx)
      const digest = seal(tx, header, held)
      const made = { version: tx.version, at: rfc3339(at), digest, ...applied }
      keepAnswer(world, caller.idempotency, made, at)
      return { ok: true, ...made }
    })
  } catch (error) {
    // The rows are as before; what was cached of them must be too.
    world.reload()
    if (error instanceof Refusal) return { ...error.failure, head: world.head.version }
    throw error
  }
}

/** A message that an outsider may leave while someone else holds the lease. */
function isInbox(op: WireOperation): boolean {
  return op.op === 'log.append' && op.lane === 'inbox'
}

function checkExpected({ head }: World, expect: number | undefined): Failure | null {
  if (expect === undefined || expect === head.version) return null
  return fail('version_mismatch', `expected version ${expect}, the head is ${head.version}`, {
    head: head.version,
  })
}

/** Conditions speak of the world before the commit, whatever its other operations do. */
function checkConditions(world: World, ops: readonly WireOperation[]): Failure | null {
  for (const [index, op] of ops.entries()) {
    const condition = 'if' in op ? op.if : undefined
    if (condition === undefined && op.match === undefined) continue
    const handler = handlerOf(op)
    const subject = handler.subject(op)
    if (subject === null) continue
    const counts = handler.isThere?.(world, subject.key) ?? true
    const entry = counts ? entryStamp(world.sql, subject.kind, subject.key) : null
    const holds =
      (condition === undefined ||
        ('absent' in condition ? entry === null : entry?.since === condition.version)) &&
      (op.match === undefined || (entry !== null && hex(entry.digest) === op.match))
    if (!holds) {
      const now = entry === null ? 'it is absent' : `it was written by version ${entry.since}`
      return fail(
        'condition_failed',
        `the condition on ${subject.kind}:${subject.key} does not hold: ${now}`,
        {
          pointer: `/ops/${index}`,
          head: world.head.version,
        },
      )
    }
  }
  return null
}

function applyAll(tx: Transaction, ops: readonly WireOperation[]): Pick<Committed, 'results' | 'created'> {
  const results: Record<string, unknown>[] = []
  const created: number[] = []
  for (const [index, op] of ops.entries()) {
    tx.begin(op.op, op.from)
    try {
      const applied = handlerOf(op).apply(tx, op)
      results.push(applied.result)
      if (applied.created) created.push(index)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const { code, detail, ok: _, ...hints } = error.failure
      throw new Refusal(code, detail, { ...hints, pointer: `/ops/${index}${hints.pointer ?? ''}` })
    }
  }
  return { results, created }
}

/** Writes the commit's own row, which chains it to the one before, and moves the head. */
function seal(tx: Transaction, { message, cause }: Header, held: boolean): string {
  const { world, version, at, actor, seq, counts } = tx
  const { head, sql } = world
  const lines = [...tx.changes.values()].map(changeLine)
  const header = {
    previous: head.digest,
    version,
    at: rfc3339(at),
    actor,
    message: message ?? null,
    cause: cause === undefined ? null : JSON.parse(cause),
  }
  const digest = commitDigest(hashes, header, lines)
  const epoch = held ? world.lease.epoch : head.epoch
  const heldAt = held ? at : head.heldAt
  const [first = '[]', ...more] = packLines(lines)
  sql.exec(
    `INSERT INTO commits (version, at, actor, epoch, held_at, message, cause, digest, changes, seq, states, files, memories, rows, bytes)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, jsonb(?), ?, ?, ?, ?, ?, ?)`,
    version,
    at,
    actor,
    epoch,
    heldAt,
    message ?? null,
    cause ?? null,
    digest,
    first,
    seq,
    counts.states,
    counts.files,
    counts.memories,
    counts.rows,
    counts.bytes,
  )
  for (const [part, text] of more.entries()) {
    sql.exec('INSERT INTO more_changes (version, part, changes) VALUES (?, ?, jsonb(?))', version, part, text)
  }
  world.head = { version, seq, at, digest: hex(digest), counts, epoch, heldAt }
  return hex(digest)
}

/** The changes as JSON arrays of rows, as few as the row size allows. */
function packLines(lines: readonly string[]): string[] {
  const rows: string[] = []
  let row = ''
  for (const line of lines) {
    if (row !== '' && row.length + line.length > changesPerRow) {
      rows.push(`[${row}]`)
      row = ''
    }
    row += row === '' ? line : `,${line}`
  }
  rows.push(`[${row}]`)
  return rows
}
