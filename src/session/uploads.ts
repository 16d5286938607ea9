// Uploads in flight: bytes that come in parts, or in one stream whose SHA-256 is known only at its end. Until such an upload is
// sealed its object in R2 belongs to it alone, and the session removes it when it is abandoned.

import { type Failure, fail, type Outcome } from '../protocol/errors.ts'
import type { UploadPart, UploadShown } from './blob-rpc.ts'
import type { World } from './world.ts'

/** An upload with no part for this long is abandoned. */
export const uploadLifeMs = 24 * 3600 * 1000

type Row = {
  upload: string
  key: string
  multipart: string | null
  part_size: number
  size: number | null
  at: number
  state: UploadShown['state']
  sha256: string | null
  sealed_size: number | null
}

export function beginUpload(
  world: World,
  { upload, key, multipart, part_size, size }: Omit<UploadShown, 'state' | 'blob'>,
  now: number,
): void {
  world.sql.exec(
    `INSERT INTO uploads (upload, key, multipart, part_size, size, at, state) VALUES (?, ?, ?, ?, ?, ?, 'open')`,
    upload,
    key,
    multipart,
    part_size,
    size,
    now,
  )
}

export function readUpload(
  world: World,
  upload: string,
): Outcome<{ version: number; upload: UploadShown; parts: UploadPart[] }> {
  const row = rowOf(world, upload)
  if (!row) return noSuchUpload()
  const parts = world.sql
    .exec<{ part: number; size: number; etag: string }>(
      'SELECT part, size, etag FROM upload_parts WHERE upload = ? ORDER BY part',
      upload,
    )
    .toArray()
  return { ok: true, version: world.head.version, upload: shown(row), parts }
}

export function addPart(
  world: World,
  upload: string,
  { part, size, etag }: UploadPart,
  now: number,
): Outcome<{ version: number }> {
  const row = rowOf(world, upload)
  if (row?.state !== 'open') return noSuchUpload()
  world.sql.exec(
    `INSERT INTO upload_parts (upload, part, size, etag) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET size = excluded.size, etag = excluded.etag`,
    upload,
    part,
    size,
    etag,
  )
  world.sql.exec('UPDATE uploads SET at = ? WHERE upload = ?', now, upload)
  return { ok: true, version: world.head.version }
}

export function sealUpload(
  world: World,
  upload: string,
  sha256: string,
  size: number,
  now: number,
): Outcome<object> {
  const row = rowOf(world, upload)
  if (!row) return noSuchUpload()
  if (row.state !== 'open' && row.sha256 !== sha256) return noSuchUpload()
  if (row.state === 'open') {
    world.sql.exec(
      "UPDATE uploads SET state = 'sealed', sha256 = ?, sealed_size = ?, at = ? WHERE upload = ?",
      sha256,
      size,
      now,
      upload,
    )
  }
  return { ok: true }
}

/** What is still to be removed for an upload whose row goes away. */
export interface Remains {
  upload: string
  key: string
  multipart: string | null
  /** Set once it was sealed: then a ledger may know the object, and has the last word. */
  sha256: string | null
}

/** Takes an open upload out of use; its row stays until its object is gone. */
export function abortUpload(world: World, upload: string): Outcome<{ version: number }> {
  const row = rowOf(world, upload)
  if (row?.state !== 'open') return noSuchUpload()
  world.sql.exec("UPDATE uploads SET state = 'aborted' WHERE upload = ?", upload)
  return { ok: true, version: world.head.version }
}

/** Marks old uploads as aborted and answers whose objects have to go. */
export function abandonedUploads(world: World, before: number, most = 100): Remains[] {
  world.sql.exec("UPDATE uploads SET state = 'aborted' WHERE at < ? AND state <> 'aborted'", before)
  return world.sql
    .exec<Remains & Record<string, SqlStorageValue>>(
      "SELECT upload, key, multipart, sha256 FROM uploads WHERE state = 'aborted' LIMIT ?",
      most,
    )
    .toArray()
}

export function forgetUpload(world: World, upload: string): void {
  world.sql.exec('DELETE FROM upload_parts WHERE upload = ?', upload)
  world.sql.exec('DELETE FROM uploads WHERE upload = ?', upload)
}

/** When the oldest upload is abandoned; null when there is none. */
export function uploadDeadline(sql: SqlStorage): number | null {
  const row = sql
    .exec<{ at: number | null; aborted: number | null }>(
      "SELECT min(at) AS at, sum(state = 'aborted') AS aborted FROM uploads",
    )
    .one()
  if (row.at === null) return null
  return (row.aborted ?? 0) > 0 ? 0 : row.at + uploadLifeMs
}

function rowOf(world: World, upload: string): Row | undefined {
  return world.sql
    .exec<Row>("SELECT * FROM uploads WHERE upload = ? AND state <> 'aborted'", upload)
    .toArray()[0]
}

function shown({ upload, key, multipart, part_size, size, state, sha256, sealed_size }: Row): UploadShown {
  return {
    upload,
    key,
    multipart,
    part_size,
    size,
    state,
    blob: sha256 === null || sealed_size === null ? null : { sha256, size: sealed_size },
  }
}

function noSuchUpload(): Failure {
  return fail('not_found', 'this session has no such upload')
}
