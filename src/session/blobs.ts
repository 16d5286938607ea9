// Which blobs a session holds, and where they lie. Small ones are here at first, in the same commit as what names them; the
// outbox moves them to R2. A file operation may name only what is held here: a hash is not a password.

import { familyPrefix } from '../media/page-keys.ts'
import type { FoundBlob, LocatedBlob, Media, NewBlob } from './blob-rpc.ts'
import { Refusal } from './refusal.ts'
import type { World } from './world.ts'

export const blobTables = `
  DROP TABLE blobs;
  CREATE TABLE blobs (
    sha256 TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    at INTEGER NOT NULL,
    key TEXT NOT NULL,
    start INTEGER NOT NULL,
    media TEXT
  ) STRICT, WITHOUT ROWID;
  -- A table of its own, so that what waits for its pack is found without a look at what does not.
  CREATE TABLE inline_blobs (
    sha256 TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    at INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    media TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE uploads (
    upload TEXT PRIMARY KEY,
    key TEXT NOT NULL,
    multipart TEXT,
    part_size INTEGER NOT NULL,
    size INTEGER,
    at INTEGER NOT NULL,
    state TEXT NOT NULL,
    sha256 TEXT,
    sealed_size INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE upload_parts (
    upload TEXT NOT NULL,
    part INTEGER NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    PRIMARY KEY (upload, part)
  ) STRICT, WITHOUT ROWID;
  -- Bytes that somebody who may not read everything has shown to have.
  CREATE TABLE offers (
    sha256 TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (sha256, actor)
  ) STRICT, WITHOUT ROWID;
`

/**
 * Remembers bytes that came through this session, so that its operations may name them.
 *
 * @throws {Refusal} when they are just being erased
 */
export function holdBlobs(world: World, blobs: readonly NewBlob[] | undefined, at: number): void {
  for (const blob of blobs ?? []) {
    if (isGoing(world.sql, blob.sha256))
      throw new Refusal('unavailable', 'these bytes are being erased; send them again', { retry_after: 1 })
    if ('bytes' in blob.place) keepInline(world, blob, blob.place.bytes, at)
    else keepPlace(world, blob, blob.place, at)
    if (blob.upload !== undefined) {
      world.sql.exec(
        "UPDATE uploads SET state = 'done', sha256 = ?, sealed_size = ?, at = ? WHERE upload = ?",
        blob.sha256,
        blob.size,
        at,
        blob.upload,
      )
    }
  }
}

function keepInline(world: World, { sha256, size, media }: NewBlob, bytes: Uint8Array, at: number): void {
  const { sql } = world
  // Bytes that lie in R2 already need no second place; that they came again keeps them.
  if (sql.exec('UPDATE blobs SET at = ? WHERE sha256 = ?', at, sha256).rowsWritten > 0) return
  sql.exec(
    'INSERT INTO inline_blobs (sha256, size, at, bytes, media) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at',
    sha256,
    size,
    at,
    bytes,
    mediaText(media),
  )
}

function keepPlace(
  world: World,
  { sha256, size, media }: NewBlob,
  { key, start }: { key: string; start: number },
  at: number,
): void {
  world.sql.exec(
    `INSERT INTO blobs (sha256, size, at, key, start, media) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET at = excluded.at, key = excluded.key, start = excluded.start`,
    sha256,
    size,
    at,
    key,
    start,
    mediaText(media),
  )
}

function mediaText(media: Media | undefined): string | null {
  return media === undefined || Object.keys(media).length === 0 ? null : JSON.stringify(media)
}

/** Size and what is known of a blob that this session holds; null when it does not. */
export function heldBlob(sql: SqlStorage, sha256: string): { size: number; media: Media } | null {
  const row = sql
    .exec<{ size: number; media: string | null }>(
      'SELECT size, media FROM blobs WHERE sha256 = ?1 UNION ALL SELECT size, media FROM inline_blobs WHERE sha256 = ?1',
      sha256,
    )
    .toArray()[0]
  if (row && isGoing(sql, sha256)) return null
  return row ? { size: row.size, media: row.media === null ? {} : JSON.parse(row.media) } : null
}

export function findBlob(sql: SqlStorage, sha256: string): FoundBlob | null {
  const row = sql
    .exec<{ size: number; key: string; start: number }>(
      'SELECT size, key, start FROM blobs WHERE sha256 = ?',
      sha256,
    )
    .toArray()[0]
  if (row) return { size: row.size, place: { key: row.key, start: row.start } }
  const inline = sql
    .exec<{ size: number; bytes: ArrayBuffer }>(
      'SELECT size, bytes FROM inline_blobs WHERE sha256 = ?',
      sha256,
    )
    .toArray()[0]
  return inline ? { size: inline.size, place: { bytes: new Uint8Array(inline.bytes) } } : null
}

/** How long before it is swept a blob that `missing` reports as held can still be named: refreshed when older than this. */
const freshMs = 3600 * 1000

export function missingBlobs(world: World, digests: readonly string[], now: number): string[] {
  const list = JSON.stringify(digests)
  // The asker will name what is here instead of sending it, so it must not be let go in between.
  for (const table of ['blobs', 'inline_blobs']) {
    world.sql.exec(
      `UPDATE ${table} SET at = ? WHERE at < ? AND sha256 IN (SELECT value FROM json_each(?))`,
      now,
      now - freshMs,
      list,
    )
  }
  return world.sql
    .exec<{ sha256: string }>(
      `SELECT value AS sha256 FROM json_each(?)
       WHERE (value NOT IN (SELECT sha256 FROM blobs) AND value NOT IN (SELECT sha256 FROM inline_blobs))
         OR value IN (SELECT b.value FROM erasures AS e, json_each(e.work, '$.blobs') AS b)`,
      list,
    )
    .toArray()
    .map((row) => row.sha256)
}

/** Blobs in R2, all or just these. Inline ones are not among them: flush first. */
export function locateBlobs(sql: SqlStorage, digests: readonly string[] | null): LocatedBlob[] {
  const columns = 'SELECT sha256, size, key, start FROM blobs'
  return digests === null
    ? sql.exec<LocatedBlob & Record<string, SqlStorageValue>>(`${columns} ORDER BY sha256`).toArray()
    : sql
        .exec<LocatedBlob & Record<string, SqlStorageValue>>(
          `${columns} WHERE sha256 IN (SELECT value FROM json_each(?)) ORDER BY sha256`,
          JSON.stringify(digests),
        )
        .toArray()
}

/** Every SHA-256 that the world names, now or in its past. */
export const references = `
  SELECT value ->> '$.blob' AS sha256 FROM (
    SELECT value FROM entries WHERE kind = 'file' AND json_valid(value, 8)
    UNION ALL SELECT value FROM past WHERE kind = 'file' AND json_valid(value, 8))
  UNION SELECT b.value FROM (
    SELECT value FROM entries WHERE kind = 'row' AND json_valid(value, 8)
    UNION ALL SELECT value FROM past WHERE kind = 'row' AND json_valid(value, 8)) AS r, json_each(r.value, '$."@"') AS b
  UNION SELECT blob FROM entries WHERE blob IS NOT NULL
  UNION SELECT blob FROM past WHERE blob IS NOT NULL
  UNION SELECT blob FROM events WHERE blob IS NOT NULL`

/** Whether the world names a blob, now or in its past. */
export function refersTo({ sql }: World, sha256: string): boolean {
  return sql.exec(`SELECT 1 FROM (${references}) WHERE sha256 = ?`, sha256).toArray().length > 0
}

/** Blobs whose bytes are on their way out: no operation may name them until that is done. */
function isGoing(sql: SqlStorage, sha256: string): boolean {
  const rows = sql.exec(
    "SELECT 1 FROM erasures AS e, json_each(e.work, '$.blobs') AS b WHERE b.value = ? LIMIT 1",
    sha256,
  )
  return rows.toArray().length > 0
}

/** A file or row that does not read back could name anything: then nothing may be let go. */
const unreadable = `
  SELECT 1 FROM entries WHERE kind IN ('file', 'row') AND value IS NOT NULL AND NOT json_valid(value, 8)
  UNION ALL SELECT 1 FROM past WHERE kind IN ('file', 'row') AND value IS NOT NULL AND NOT json_valid(value, 8) LIMIT 1`

/**
 * Which of these R2 keys hold nothing that this session needs: nothing it refers to in head or past, and nothing put since
 * `before`. With `act`, it forgets what lies there in the same step, so that no operation can name it any more.
 */
export function unneededKeys(
  world: World,
  keys: readonly string[],
  before: number,
  act: boolean,
): readonly string[] {
  const { sql } = world
  if (sql.exec(unreadable).toArray().length > 0) return []
  const needed = new Set(
    sql
      .exec<{ key: string }>(
        `SELECT DISTINCT key FROM blobs WHERE key IN (SELECT value FROM json_each(?))
         AND (at >= ? OR sha256 IN (${references}))`,
        JSON.stringify(keys),
        before,
      )
      .toArray()
      .map((row) => row.key),
  )
  // The family's pages are needed for as long as this session is there to answer.
  const { fleet, family } = world.identity
  needed.add(familyPrefix(fleet, family))
  const unneeded = keys.filter((key) => !needed.has(key))
  if (act) {
    sql.exec('DELETE FROM blobs WHERE key IN (SELECT value FROM json_each(?))', JSON.stringify(unneeded))
  }
  return unneeded
}
