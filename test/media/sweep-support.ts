// What the tests of the sweep share: running it now, and what R2 may hold afterwards.

import { env, exports } from 'cloudflare:workers'
import { expect } from 'vitest'
import type { Swept } from '../../src/media/sweep.ts'
import { type Client, keysOf } from './support.ts'

/** The operator's sweep of a fleet; without a grace time unless one is given. */
export async function sweep(
  fleet: string,
  options: { dry_run?: boolean; force?: boolean; grace?: number } = {},
): Promise<Swept> {
  const response = await exports.default.fetch(
    new Request('https://edge.test/v1/sweep', {
      method: 'POST',
      body: JSON.stringify({ grace: 0, ...options }),
      headers: {
        authorization: `Bearer ${env.LARES_ROOT_KEY}`,
        'lares-fleet': fleet,
        'content-type': 'application/json',
      },
    }),
  )
  expect(response.status).toBe(200)
  return response.json()
}

/** The keys under which a session's blobs lie. */
export async function keysHeld(client: Client): Promise<string[]> {
  const located = await client.stub.locateBlobs(null)
  if (!located.ok) return []
  return located.blobs.map((blob) => blob.key)
}

/** After a sweep of everything that is not needed, R2 holds what the sessions need and no more. */
export async function expectNoStray(fleet: string, clients: readonly Client[]): Promise<void> {
  for (const client of clients) await client.stub.expireUploads(Date.now() + 1)
  await sweep(fleet)
  const held = new Set<string>()
  for (const client of clients) for (const key of await keysHeld(client)) held.add(key)
  expect((await keysOf(fleet)).sort()).toEqual([...held].sort())
}
