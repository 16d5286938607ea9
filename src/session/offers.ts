// A hash is not a password, within a session too: whoever may read only some folders may name only bytes that lie in these, or that
// they have sent themselves. Else putting a file by its hash would be a way to read any other.

import { type Failure, fail } from '../protocol/errors.ts'
import { lies } from './read-entries.ts'
import type { Caller, CommitRequest } from './rpc.ts'
import type { World } from './world.ts'

/** How long what was sent may be named. */
const offerLifeMs = 24 * 3600 * 1000

/** Remembers what a caller has shown to have; nothing for one who may read everything. */
export function noteOffers(
  { sql }: World,
  { actor, within }: Caller,
  digests: readonly string[],
  now: number,
): void {
  if (within === undefined || digests.length === 0) return
  sql.exec(
    `INSERT INTO offers (sha256, actor, at) SELECT value, ?, ? FROM json_each(?) WHERE true
     ON CONFLICT (sha256, actor) DO UPDATE SET at = excluded.at`,
    actor,
    now,
    JSON.stringify(digests),
  )
}

export function forgetOffers({ sql }: World, now: number): void {
  sql.exec('DELETE FROM offers WHERE at < ?', now - offerLifeMs)
}

/** Refuses a commit that names bytes which its caller may not know of. */
export function checkNamed(world: World, caller: Caller, { ops, blobs = [] }: CommitRequest): Failure | null {
  if (caller.within === undefined) return null
  const sent = new Set(blobs.map(({ sha256 }) => sha256))
  const named = ops.map((op) => (op.op === 'file.put' && !sent.has(op.blob) ? op.blob : null))
  const unknown = new Set(
    unnameable(
      world,
      caller,
      named.filter((blob) => blob !== null),
    ),
  )
  const index = named.findIndex((blob) => blob !== null && unknown.has(blob))
  // As if the session did not have them.
  return index === -1
    ? null
    : fail('invalid', 'this session does not hold this blob', { pointer: `/ops/${index}/blob` })
}

/** Which of these a caller may not name, whether the session holds them or not. */
export function unnameable({ sql }: World, { actor, within }: Caller, digests: readonly string[]): string[] {
  if (within === undefined || digests.length === 0) return []
  const list = JSON.stringify(digests)
  const known = new Set(
    sql
      .exec<{ sha256: string }>(
        'SELECT sha256 FROM offers WHERE actor = ? AND sha256 IN (SELECT value FROM json_each(?))',
        actor,
        list,
      )
      .toArray()
      .map(({ sha256 }) => sha256),
  )
  const files = sql.exec<{ key: string; blob: string }>(
    `SELECT key, value ->> '$.blob' AS blob FROM (
       SELECT key, value FROM entries WHERE kind = 'file' AND json_valid(value, 8)
       UNION ALL SELECT key, value FROM past WHERE kind = 'file' AND json_valid(value, 8))
     WHERE value ->> '$.blob' IN (SELECT value FROM json_each(?))`,
    list,
  )
  for (const { key, blob } of files) if (within.some((folder) => lies(key, folder))) known.add(blob)
  return digests.filter((sha256) => !known.has(sha256))
}
