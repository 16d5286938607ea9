// A family's pages in R2: who holds them, and which of them nothing needs any more.

import type { Env } from '../../env.ts'
import { holdObject, releaseObjects } from '../../media/hold.ts'
import { familyPrefix, manifestKey, pageKey } from '../../media/page-keys.ts'
import { readManifest } from '../../snapshot/manifest.ts'
import type { Identity, World } from '../world.ts'
import { childrenOf } from './fork.ts'
import { manifestText } from './objects.ts'

/** Pages that are younger may belong to a snapshot that is being taken. */
const graceMs = 24 * 3600 * 1000

/** What the ledger calls all pages of a family together: they go when the last session that holds them has gone. */
export function familyName(family: string): string {
  return `family:${family}`
}

/** Holds the family's pages for a session, before the first of them is written. */
export async function holdFamily(
  env: Env,
  { fleet, session, family }: Pick<Identity, 'fleet' | 'session' | 'family'>,
): Promise<void> {
  await holdObject(env, fleet, session, {
    name: familyName(family),
    key: familyPrefix(fleet, family),
    size: 0,
    stored: true,
  })
}

export async function releaseFamily(env: Env, fleet: string, session: string, family: string): Promise<void> {
  await releaseObjects(env, fleet, session, [familyName(family)])
}

/**
 * Removes pages and manifests that no snapshot of this session names, and that its page list does not count as stored. Only for
 * a session alone in its family: what others need, this one cannot tell. Nothing may take a snapshot meanwhile.
 */
export async function sweepPages(world: World, env: Env, now: number): Promise<number> {
  const { fleet, family, origin } = world.identity
  if (origin !== null || childrenOf(world).length > 0) return 0
  const needed = await neededKeys(world, env)
  let removed = 0
  for (let cursor: string | undefined; ; ) {
    const list: R2Objects = await env.BLOBS.list({
      prefix: familyPrefix(fleet, family),
      ...(cursor === undefined ? {} : { cursor }),
    })
    const idle = list.objects.filter(
      ({ key, uploaded }) => !needed.has(key) && uploaded.getTime() < now - graceMs,
    )
    if (idle.length > 0) await env.BLOBS.delete(idle.map(({ key }) => key))
    removed += idle.length
    if (!list.truncated) return removed
    cursor = list.cursor
  }
}

async function neededKeys(world: World, env: Env): Promise<Set<string>> {
  const { fleet, family } = world.identity
  const listed = world.sql.exec<{ name: string }>('SELECT name FROM pages WHERE stored = 1').toArray()
  const needed = new Set(listed.map(({ name }) => pageKey(fleet, family, name)))
  const roots = world.sql.exec<{ root: string }>('SELECT DISTINCT root FROM snapshots').toArray()
  for (const { root } of roots) {
    needed.add(manifestKey(fleet, family, root))
    const text = await manifestText(env, fleet, family, root)
    if (text === null) throw new Error('a manifest is missing; nothing is swept')
    for (const { name } of readManifest(text).pages) needed.add(pageKey(fleet, family, name))
  }
  return needed
}
