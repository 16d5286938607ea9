// Reading rows: what an entry is now, what it was at a version, and keys in order. The only module that knows how head and
// past together make a world at any version.

import type { Canonical } from '../protocol/canonical.ts'
import type { EntryKind } from '../protocol/refs.ts'
import { inParts, partRows } from './each.ts'
import type { Stretch } from './rpc.ts'

// A type and not an interface: only a type fits the index signature that rows have.
export type Entry = {
  key: string
  since: number
  /** What it was made from, as a JSON array of references. */
  inputs: string | null
  /** Null when it lies in R2. What was stored was canonical, and reads back as it was written. */
  text: Canonical | null
  blob: string | null
  /** Where in R2 it lies, as JSON: key, start and size. */
  blob_place: string | null
  size: number
  salt: ArrayBuffer
  digest: ArrayBuffer
}

/** A value that does not read back is null here, and told apart from one in R2 by having no blob. */
export const storedText = 'CASE WHEN json_valid(value, 8) THEN json(value) END'

export const valueColumns = `${storedText} AS text, blob,
   (SELECT json_array(b.key, b.start, b.size) FROM blobs AS b WHERE b.sha256 = blob) AS blob_place, size, salt, digest`
export const entryColumns = `key, since, inputs, ${valueColumns}`

/** Reads back what `valueColumns` says of a blob. */
export function placeOf(text: string | null | undefined): Stretch | null {
  if (text == null) return null
  const [key, start, size]: [string, number, number] = JSON.parse(text)
  return { key, start, size }
}

export function currentEntry(sql: SqlStorage, kind: EntryKind, key: string): Entry | null {
  return (
    sql
      .exec<Entry>(`SELECT ${entryColumns} FROM entries WHERE kind = ? AND key = ?`, kind, key)
      .toArray()[0] ?? null
  )
}

/** Who wrote an entry and what it is, without its value. */
export function entryStamp(
  sql: SqlStorage,
  kind: EntryKind,
  key: string,
): { since: number; digest: ArrayBuffer } | null {
  return (
    sql
      .exec<{ since: number; digest: ArrayBuffer }>(
        'SELECT since, digest FROM entries WHERE kind = ? AND key = ?',
        kind,
        key,
      )
      .toArray()[0] ?? null
  )
}

/** An entry as a version saw it: in the head if it has been there since, otherwise in the past. */
export function entryAt(sql: SqlStorage, kind: EntryKind, key: string, version: number): Entry | null {
  const current = currentEntry(sql, kind, key)
  if (current !== null && current.since <= version) return current
  const past = sql
    .exec<Entry & { until: number }>(
      `SELECT ${entryColumns}, until FROM past WHERE kind = ? AND key = ? AND since <= ? ORDER BY since DESC LIMIT 1`,
      kind,
      key,
      version,
    )
    .toArray()[0]
  if (past === undefined || past.until <= version) return null
  const { until: _, ...entry } = past
  return entry
}

/** Every key of a kind that begins with the prefix, in bytewise order, in the head. */
export function keysFrom(sql: SqlStorage, kind: EntryKind, prefix: string): string[] {
  return sql
    .exec<{ key: string }>(
      // No key's bytes reach FF, so this is just above everything that begins with the prefix.
      "SELECT key FROM entries WHERE kind = ?1 AND key >= ?2 AND key < ?2 || CAST(x'FF' AS TEXT) ORDER BY key",
      kind,
      prefix,
    )
    .toArray()
    .map((row) => row.key)
}

/**
 * Entries of a kind in key order from a bound on, as a version saw them. In the head that is one range; in the past two seeks
 * a key, however long a key's past is. To be used up or left within one synchronous step.
 *
 * @param inclusive whether a key equal to the bound counts
 */
export function* entriesFrom(
  sql: SqlStorage,
  kind: EntryKind,
  bound: string,
  inclusive: boolean,
  version: number,
  head: number,
): Generator<Entry> {
  if (version === head) {
    yield* inParts<Entry>(partRows, (after) =>
      sql.exec<Entry>(
        `SELECT ${entryColumns} FROM entries WHERE kind = ? AND key ${inclusive && after === null ? '>=' : '>'} ? ORDER BY key LIMIT ?`,
        kind,
        after === null ? bound : after.key,
        partRows,
      ),
    )
    return
  }
  let key = nextKey(sql, kind, bound, inclusive)
  while (key !== null) {
    const entry = entryAt(sql, kind, key, version)
    if (entry !== null) yield entry
    key = nextKey(sql, kind, key, false)
  }
}

function nextKey(sql: SqlStorage, kind: EntryKind, bound: string, from: boolean): string | null {
  const compare = from ? '>=' : '>'
  const row = sql
    .exec<{ key: string | null }>(
      `SELECT min(key) AS key FROM (
         SELECT min(key) AS key FROM entries WHERE kind = ?1 AND key ${compare} ?2
         UNION ALL
         SELECT min(key) AS key FROM past WHERE kind = ?1 AND key ${compare} ?2)`,
      kind,
      bound,
    )
    .toArray()[0]
  return row?.key ?? null
}
