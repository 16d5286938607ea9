// The bytes of every blob this session refers to, streamed through SHA-256, a bounded number of bytes a step.

import { hex } from '../../crypto.ts'
import type { Env } from '../../env.ts'
import { findBlob, references } from '../blobs.ts'
import type { World } from '../world.ts'
import type { Tally } from './verify.ts'

const blobsPerStep = 500
/** A single larger blob makes a step of its own. */
const bytesPerStep = 64 * 1024 * 1024

export async function verifyBlobs(world: World, env: Env, tally: Tally, [last = '']: (string | number)[]) {
  const wanted = world.sql
    .exec<{ sha256: string }>(
      `SELECT DISTINCT sha256 FROM (${references}) WHERE sha256 > ? ORDER BY sha256 LIMIT ?`,
      last,
      blobsPerStep,
    )
    .toArray()
  let bytes = 0
  for (const { sha256 } of wanted) {
    const found = findBlob(world.sql, sha256)
    const digest = found === null ? null : await digestOf(env, found)
    const problem = digest === null ? 'the bytes are missing' : 'the bytes have another SHA-256'
    tally.check(digest === sha256, `blob ${sha256}`, problem)
    bytes += found?.size ?? 0
    if (bytes > bytesPerStep) return [sha256]
  }
  const end = wanted.at(-1)?.sha256
  return wanted.length === blobsPerStep && end !== undefined ? [end] : null
}

async function digestOf(
  env: Env,
  { size, place }: NonNullable<ReturnType<typeof findBlob>>,
): Promise<string | null> {
  if ('bytes' in place) return hex(await crypto.subtle.digest('SHA-256', place.bytes))
  if (size === 0) return hex(await crypto.subtle.digest('SHA-256', new Uint8Array()))
  const object = await env.BLOBS.get(place.key, { range: { offset: place.start, length: size } })
  if (object === null) return null
  const stream = new crypto.DigestStream('SHA-256')
  await object.body.pipeTo(stream)
  return hex(await stream.digest)
}
