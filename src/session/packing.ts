// Moves inline blobs to R2, many in one object. The bytes here are dropped only when the pack is there, in one step with the
// row that says where in it they lie.

import { ulid } from 'ulid'
import type { Env } from '../env.ts'
import { holdObject } from '../media/hold.ts'
import { packKey, packName } from '../media/keys.ts'
import { each } from './each.ts'
import type { World } from './world.ts'

/** Bytes of one pack, and how long the youngest of few bytes waits for company. */
const packBytes = 8 * 1024 * 1024
const packDelayMs = 3_000

interface Waiting {
  count: number
  bytes: number
  oldest: number
}

export function waitingInline(sql: SqlStorage): Waiting {
  return sql
    .exec<{ count: number; bytes: number; oldest: number }>(
      'SELECT count(*) AS count, coalesce(sum(size), 0) AS bytes, coalesce(min(at), 0) AS oldest FROM inline_blobs',
    )
    .one()
}

/** When the next pack is due; null when nothing waits. */
export function packDue(sql: SqlStorage): number | null {
  const { count, bytes, oldest } = waitingInline(sql)
  if (count === 0) return null
  return bytes >= packBytes ? 0 : oldest + packDelayMs
}

/** Packs what waits, one pack a call. Answers how many blobs moved. */
export async function packInline(world: World, env: Env): Promise<number> {
  const chosen = choose(world.sql)
  if (chosen.length === 0) return 0
  const { fleet, session } = world.identity
  const pack = ulid()
  const bytes = Buffer.concat(chosen.map((one) => new Uint8Array(one.bytes)))
  const wanted = { name: packName(pack), key: packKey(fleet, pack), size: bytes.length }
  const { key } = await holdObject(env, fleet, session, wanted)
  await env.BLOBS.put(key, bytes)
  // The session may have been deleted while R2 was writing; the sweep finds the pack then.
  if (world.state !== 'live') return 0
  world.storage.transactionSync(() => {
    let start = 0
    for (const { sha256, size } of chosen) {
      world.sql.exec(
        // A blob that was let go meanwhile must not come back.
        `INSERT INTO blobs (sha256, size, at, key, start, media)
         SELECT sha256, size, at, ?, ?, media FROM inline_blobs WHERE sha256 = ?
         ON CONFLICT DO NOTHING`,
        key,
        start,
        sha256,
      )
      world.sql.exec('DELETE FROM inline_blobs WHERE sha256 = ?', sha256)
      start += size
    }
  })
  return chosen.length
}

type InlineRow = { sha256: string; size: number; bytes: ArrayBuffer }

function choose(sql: SqlStorage): InlineRow[] {
  const chosen: InlineRow[] = []
  let room = packBytes
  for (const row of each(sql.exec<InlineRow>('SELECT sha256, size, bytes FROM inline_blobs'))) {
    if (chosen.length > 0 && row.size > room) break
    room -= row.size
    chosen.push(row)
  }
  return chosen
}
