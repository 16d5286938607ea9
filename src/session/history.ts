// The journal: what each commit changed, who made it and why, with the values and salts that let anyone check the chain.

import { hex } from '../crypto.ts'
import type { Canonical } from '../protocol/canonical.ts'
import { type Change, eventValue } from '../protocol/digests.ts'
import { fail, type Outcome } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import type { EntryKind } from '../protocol/refs.ts'
import { each } from './each.ts'
import { isErased } from './erased.ts'
import { PageBuilder, Pieces, valuePiece } from './pieces.ts'
import { type EventRow, eventColumns } from './read-log.ts'
import type { CommitPart, CommitQuery, PageRead, Piece } from './rpc.ts'
import { type Entry, entryColumns } from './store.ts'
import { rfc3339 } from './time.ts'
import type { World } from './world.ts'

export type CommitRow = {
  version: number
  at: number
  actor: string
  message: string | null
  cause: string | null
  digest: ArrayBuffer
  changes: string
  /** 1 when the changes go on in rows of their own. */
  more: number
}

export const commitColumns = `version, at, actor, message, cause, digest, json(changes) AS changes,
   EXISTS (SELECT 1 FROM more_changes AS m WHERE m.version = commits.version) AS more`

export function listCommits(world: World, query: CommitQuery): Outcome<PageRead> {
  const { head, sql } = world
  const { order, limit } = query
  const position = typeof query.cursor === 'number' ? query.cursor : null
  const low = Math.max(query.after ?? 0, order === 'asc' ? (position ?? 0) : 0)
  const high = Math.min(
    query.before ?? head.version + 1,
    order === 'desc' ? (position ?? head.version + 1) : head.version + 1,
  )
  const rows = sql.exec<CommitRow>(
    `SELECT ${commitColumns} FROM commits WHERE version > ? AND version < ?
     ORDER BY version ${order === 'asc' ? 'ASC' : 'DESC'} LIMIT ?`,
    low,
    high,
    limit + 1,
  )
  const builder = new PageBuilder(limit)
  for (const row of each(rows)) {
    if (!builder.add(row.version, `${commitHead(row)},${listedOps(changesOf(sql, row), listedChars)}}`)) break
  }
  return { ok: true, ...builder.page(head.version) }
}

/** What a commit in a list shows of its operations, in characters; the commit itself has them all. */
const listedChars = 2 * 1024 * 1024

/** A commit's operations as members of its JSON, as far as they fit. */
function listedOps(changes: readonly Change[], most: number): string {
  const ops: string[] = []
  let room = most
  for (const { op, ref } of changes) {
    const text = `{"op":${JSON.stringify(op)},"ref":${JSON.stringify(ref)}}`
    room -= text.length
    if (room < 0) return `"ops":[${ops.join(',')}],"ops_more":true`
    ops.push(text)
  }
  return `"ops":[${ops.join(',')}]`
}

/**
 * A commit in full, as much of it as fits in one answer: a folder moved is a change for each of its files.
 *
 * @param from the change to go on with, as the part before gave it in `next`
 */
export function readCommit(world: World, version: number, from = 0): Outcome<CommitPart> {
  const row = commitRow(world.sql, version)
  if (!row)
    return fail('no_such_version', `the head is version ${world.head.version}`, { head: world.head.version })
  return {
    ok: true,
    version: world.head.version,
    digest: hex(row.digest),
    ...commitWithValues(world, row, from),
  }
}

export function commitRow(sql: SqlStorage, version: number): CommitRow | undefined {
  return sql.exec<CommitRow>(`SELECT ${commitColumns} FROM commits WHERE version = ?`, version).toArray()[0]
}

/** A commit with, for each change from `first` on, the value, its salt and its digest. */
function commitWithValues(world: World, row: CommitRow, first: number): Pick<CommitPart, 'commit' | 'next'> {
  const pieces = new Pieces()
  if (first === 0) {
    pieces.add(`${commitHead(row)},"previous":"${previousDigest(world, row.version)}","ops":[`)
  }
  for (const [index, change] of changesOf(world.sql, row).entries()) {
    if (index < first) continue
    if (pieces.bytes > limits.pageBytes) return { commit: pieces.done(), next: index }
    const { op, ref, digest, from } = change
    pieces.add(
      `${index === 0 ? '' : ','}{"op":${JSON.stringify(op)},"ref":${JSON.stringify(ref)},"digest":${JSON.stringify(digest)}`,
    )
    if (from !== undefined) pieces.add(`,"from":${JSON.stringify(from)}`)
    const value = digest === null ? null : changedValue(world.sql, ref, row.version)
    if (value && isErased(value)) pieces.add(',"erased":true')
    else if (value) {
      pieces.add(`,"salt":"${hex(value.salt)}","value":`, ...value.pieces)
      // Never a silent null.
      if (value.corrupt) pieces.add(',"corrupt":true')
    }
    pieces.add('}')
  }
  return { commit: pieces.add(']}').done(), next: null }
}

/** Everything of a commit but its changes, as open JSON. */
export function commitHead({ version, at, actor, message, cause, digest }: CommitRow): string {
  return (
    `{"version":${version},"at":"${rfc3339(at)}","actor":${JSON.stringify(actor)},"message":${JSON.stringify(message)},` +
    `"cause":${cause ?? 'null'},"digest":"${hex(digest)}"`
  )
}

type PackedChange = [op: string, ref: string, digest: string | null, from?: string[]]

export function changesOf(sql: SqlStorage, row: Pick<CommitRow, 'version' | 'changes' | 'more'>): Change[] {
  // What `packLines` wrote.
  const packed: PackedChange[] = JSON.parse(row.changes)
  if (row.more) packed.push(...moreChanges(sql, row.version))
  return packed.map(([op, ref, digest, from]) =>
    from === undefined ? { op, ref, digest } : { op, ref, digest, from },
  )
}

function moreChanges(sql: SqlStorage, version: number): PackedChange[] {
  return sql
    .exec<{ changes: string }>(
      'SELECT json(changes) AS changes FROM more_changes WHERE version = ? ORDER BY part',
      version,
    )
    .toArray()
    .flatMap(({ changes }): PackedChange[] => JSON.parse(changes))
}

function previousDigest(world: World, version: number): string {
  const row = world.sql
    .exec<{ digest: ArrayBuffer }>('SELECT digest FROM commits WHERE version = ?', version - 1)
    .toArray()[0]
  return row ? hex(row.digest) : '0'.repeat(64)
}

interface ChangedValue {
  salt: ArrayBuffer
  pieces: Piece[]
  /** It does not read back. */
  corrupt: boolean
}

/** The value that a commit gave a reference, wherever it is kept by now; null when it was erased. */
function changedValue(sql: SqlStorage, ref: string, version: number): ChangedValue | null {
  const cut = ref.indexOf(':')
  const kind = ref.slice(0, cut)
  const key = ref.slice(cut + 1)
  if (kind === 'log') {
    const event = sql
      .exec<EventRow>(`SELECT ${eventColumns} FROM events WHERE seq = ?`, Number(key))
      .toArray()[0]
    if (!event) return null
    return { salt: event.salt, pieces: eventValuePieces(event), corrupt: valuePiece(event) === null }
  }
  // What `formatRef` wrote begins with a kind.
  const entry = entryOfVersion(sql, kind as EntryKind, key, version)
  if (!entry) return null
  const value = valuePiece(entry)
  return { salt: entry.salt, pieces: [value ?? 'null'], corrupt: value === null }
}

/** The row an entry got from just this version. */
export function entryOfVersion(sql: SqlStorage, kind: EntryKind, key: string, version: number): Entry | null {
  for (const table of ['entries', 'past'] as const) {
    const row = sql
      .exec<Entry>(
        `SELECT ${entryColumns} FROM ${table} WHERE kind = ? AND key = ? AND since = ?`,
        kind,
        key,
        version,
      )
      .toArray()[0]
    if (row) return row
  }
  return null
}

/** The JSON that an event's digest covers, around a payload that may lie in R2. */
function eventValuePieces(event: EventRow): Piece[] {
  const hole = '\0'
  // No canonical text holds NUL, so the place of the payload is found again.
  const text = eventValue({
    type: event.type,
    lane: event.lane,
    payload: hole as Canonical,
    key: event.key ?? undefined,
    parent: event.parent ?? undefined,
  })
  const [before = '', after = ''] = text.split(hole)
  return [before, valuePiece(event) ?? 'null', after]
}
