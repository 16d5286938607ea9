// Blobs that pass from one session to another with the rows that name them: no bytes move but the smallest, which lie in the
// rows themselves. The ledger hears of the new holder before the rows are here, while the old one still holds.

import type { Env } from '../../env.ts'
import { holdObjects, objectName } from '../../media/hold.ts'
import type { Identity, World } from '../world.ts'

// Types and not interfaces: only a type fits the index signature that rows have.
export type PlacedRow = {
  sha256: string
  size: number
  at: number
  key: string
  start: number
  media: string | null
}
export type InlineRow = { sha256: string; size: number; at: number; bytes: ArrayBuffer; media: string | null }

export interface BlobRows {
  placed: PlacedRow[]
  inline: InlineRow[]
}

/** Where these blobs lie, of those this session holds. */
export function blobRows({ sql }: World, digests: readonly string[]): BlobRows {
  const list = JSON.stringify(digests)
  const wanted = 'WHERE sha256 IN (SELECT value FROM json_each(?))'
  return {
    placed: sql
      .exec<PlacedRow>(`SELECT sha256, size, at, key, start, media FROM blobs ${wanted}`, list)
      .toArray(),
    inline: sql
      .exec<InlineRow>(`SELECT sha256, size, at, bytes, media FROM inline_blobs ${wanted}`, list)
      .toArray(),
  }
}

/** Makes this session a holder of the objects in which blobs of another lie. */
export async function holdForeign(
  env: Env,
  { fleet, session }: Pick<Identity, 'fleet' | 'session'>,
  { placed }: BlobRows,
): Promise<void> {
  const objects = new Map(
    placed.map(({ key, sha256, size }) => [key, { name: objectName(key, sha256), key, size, stored: true }]),
  )
  await holdObjects(env, fleet, session, [...objects.values()])
}

/** Takes the rows over, in the step that brings what names them. */
export function takeBlobRows({ sql }: World, { placed, inline }: BlobRows, now: number): void {
  for (const { sha256, size, key, start, media } of placed) {
    sql.exec(
      'INSERT INTO blobs (sha256, size, at, key, start, media) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
      sha256,
      size,
      now,
      key,
      start,
      media,
    )
  }
  for (const { sha256, size, bytes, media } of inline) {
    sql.exec(
      `INSERT INTO inline_blobs (sha256, size, at, bytes, media) SELECT ?1, ?2, ?3, ?4, ?5
       WHERE NOT EXISTS (SELECT 1 FROM blobs WHERE sha256 = ?1) ON CONFLICT DO NOTHING`,
      sha256,
      size,
      now,
      bytes,
      media,
    )
  }
}
