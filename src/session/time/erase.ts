// Erase: takes values away for good, and keeps what makes every chain verify. The rows go in one commit that names who asked; what
// must be awaited (forks, pages, bytes) is written down in that same step and done after it, again after a crash.

import { hex } from '../../crypto.ts'
import { fail, type Outcome } from '../../protocol/errors.ts'
import { parseRef, type RefKind } from '../../protocol/refs.ts'
import { blobsOf } from '../blobs-present.ts'
import { type Made, transact } from '../commit.ts'
import type { Caller } from '../rpc.ts'
import { valueColumns } from '../store.ts'
import type { Transaction } from '../transaction.ts'
import type { World } from '../world.ts'
import { erasedRef, eraseOperation } from './erased-ref.ts'

/** One stored value: an entry's row from a version, or an event. */
export interface Target {
  kind: RefKind
  key: string
  /** The version that wrote it. */
  since: number
  digest: string
}

/** What remains to be done after the rows are gone. */
export interface ErasureWork {
  id: number
  targets: Target[]
  /** Blobs that the erased values named. */
  blobs: string[]
  actor: string
}

export interface Erased {
  /** Values taken away. */
  erased: number
}

/** The values that references mean: with a version, the one value it saw; without, every value the reference ever had. */
export function findTargets(world: World, refs: readonly string[]): Outcome<{ targets: Target[] }> {
  const targets: Target[] = []
  for (const [index, text] of refs.entries()) {
    const ref = parseRef(text)
    if (ref === null) return fail('invalid', 'not a reference', { pointer: `/refs/${index}` })
    const found =
      ref.kind === 'log'
        ? eventTargets(world, Number(ref.key))
        : entryTargets(world, ref.kind, ref.key, ref.version)
    if (found.length === 0) return fail('not_found', `there is no ${text}`, { pointer: `/refs/${index}` })
    targets.push(...found)
  }
  return { ok: true, targets }
}

type TargetRow = { since: number; digest: ArrayBuffer }

function entryTargets({ sql }: World, kind: RefKind, key: string, version: number | undefined): Target[] {
  const rows = sql.exec<TargetRow>(
    `SELECT since, digest FROM entries WHERE kind = ?1 AND key = ?2 AND (?3 IS NULL OR since <= ?3)
     UNION ALL
     SELECT since, digest FROM past WHERE kind = ?1 AND key = ?2 AND (?3 IS NULL OR (since <= ?3 AND until > ?3))
     ORDER BY since DESC`,
    kind,
    key,
    version ?? null,
  )
  const targets = rows.toArray().map(({ since, digest }) => ({ kind, key, since, digest: hex(digest) }))
  return version === undefined ? targets : targets.slice(0, 1)
}

function eventTargets({ sql }: World, seq: number): Target[] {
  return sql
    .exec<{ version: number; digest: ArrayBuffer }>('SELECT version, digest FROM events WHERE seq = ?', seq)
    .toArray()
    .map(({ version, digest }) => ({
      kind: 'log' as const,
      key: String(seq),
      since: version,
      digest: hex(digest),
    }))
}

/** The session of this world's line in which each value was written: where the erasure has to begin to reach all who share it. */
export function ownersOf({ identity }: World, targets: readonly Target[]): Map<string, Target[]> {
  return Map.groupBy(targets, ({ since }) => {
    // The outermost ancestor that already had it.
    const owner = identity.ancestry.findLast((origin) => origin.version >= since)
    return owner?.session ?? identity.session
  })
}

/** As many as a row holds, with the longest keys there are. */
const targetsPerRow = 500

/** Takes the rows' values away in one commit. */
export function eraseRows(
  world: World,
  caller: Caller,
  targets: readonly Target[],
  header: { message?: string | undefined } = {},
): Outcome<Made & Erased> {
  // Two references may mean one value.
  const each = new Map(targets.map((target) => [erasedRef(target), target]))
  const there = [...each.values()].filter((target) => holds(world, target))
  return transact(world, caller, header, {
    // Whoever holds the lease must not be able to keep what has to be erased.
    unfenced: true,
    apply: (tx) => {
      tx.begin(eraseOperation, undefined)
      for (let i = 0; i < there.length; i += targetsPerRow) {
        const some = there.slice(i, i + targetsPerRow)
        const blobs = new Set<string>()
        for (const target of some) {
          for (const blob of takeValue(tx, target)) blobs.add(blob)
          tx.untouched(erasedRef(target))
        }
        const work = { targets: some, blobs: [...blobs], actor: tx.actor }
        world.sql.exec('INSERT INTO erasures (work) VALUES (?)', JSON.stringify(work))
      }
      return { erased: there.length }
    },
  })
}

/** Empties one row. Answers the blobs its value named. */
function takeValue(tx: Transaction, { kind, key, since }: Target): string[] {
  const { sql } = tx.world
  const gone = "value = NULL, blob = NULL, inputs = NULL, size = 0, salt = x''"
  if (kind === 'log') {
    const row = rowOf(sql, 'events', 'seq = ?', Number(key))
    sql.exec(
      `UPDATE events SET ${gone}, type = ?, key = NULL, call = NULL, origin = NULL WHERE seq = ?`,
      erasedType,
      Number(key),
    )
    tx.counts.bytes -= row?.size ?? 0
    return row ? blobsOf(kind, row) : []
  }
  const found: string[] = []
  for (const table of ['entries', 'past'] as const) {
    const row = rowOf(sql, table, 'kind = ? AND key = ? AND since = ?', kind, key, since)
    if (row === null) continue
    found.push(...blobsOf(kind, row))
    if (table === 'entries') tx.counts.bytes -= row.size
    sql.exec(`UPDATE ${table} SET ${gone} WHERE kind = ? AND key = ? AND since = ?`, kind, key, since)
  }
  return found
}

/** The type an erased event shows; the one it had may tell too much. */
export const erasedType = 'lares.erased'

type ValueRow = { text: string | null; blob: string | null; size: number }

function rowOf(
  sql: SqlStorage,
  table: 'events' | 'entries' | 'past',
  where: string,
  ...keys: SqlStorageValue[]
): ValueRow | null {
  return (
    sql.exec<ValueRow>(`SELECT ${valueColumns} FROM ${table} WHERE ${where}`, ...keys).toArray()[0] ?? null
  )
}

/** Whether the row is here, is the very value that is meant, and is not erased yet. */
function holds({ sql }: World, { kind, key, since, digest }: Target): boolean {
  const bytes = Buffer.from(digest, 'hex')
  const found =
    kind === 'log'
      ? sql.exec("SELECT 1 FROM events WHERE seq = ? AND digest = ? AND salt <> x''", Number(key), bytes)
      : sql.exec(
          `SELECT 1 FROM entries WHERE kind = ?1 AND key = ?2 AND since = ?3 AND digest = ?4 AND salt <> x''
           UNION ALL SELECT 1 FROM past WHERE kind = ?1 AND key = ?2 AND since = ?3 AND digest = ?4 AND salt <> x''`,
          kind,
          key,
          since,
          bytes,
        )
  return found.toArray().length > 0
}

export function pendingErasures({ sql }: World): ErasureWork[] {
  return sql
    .exec<{ id: number; work: string }>('SELECT id, work FROM erasures ORDER BY id')
    .toArray()
    .map(({ id, work }) => ({ id, ...JSON.parse(work) }))
}

export function erasureDone({ sql }: World, id: number): void {
  sql.exec('DELETE FROM erasures WHERE id = ?', id)
}
