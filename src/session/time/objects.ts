// What a snapshot consists of in R2: its manifest, its pages, and every blob its entries and events refer to.

import { hashes, hex } from '../../crypto.ts'
import type { Env } from '../../env.ts'
import { manifestKey, pageKey } from '../../media/page-keys.ts'
import { fail, type Outcome } from '../../protocol/errors.ts'
import { formatRef } from '../../protocol/refs.ts'
import { readManifest } from '../../snapshot/manifest.ts'
import { readPage } from '../../snapshot/page.ts'
import { locateBlobs } from '../blobs.ts'
import { blobsOf } from '../blobs-present.ts'
import type { World } from '../world.ts'
import type { SnapshotRow } from './snapshot.ts'

export interface SnapshotObject {
  kind: 'manifest' | 'page' | 'blob'
  /** What refers to it, where that is one thing. */
  ref?: string
  r2_key: string
  sha256: string
  size: number
  /** Where in its object a blob begins, when it shares one with others. */
  offset?: number
}

/**
 * A page of the list. Ends at page borders of the manifest, so a little more or less than `limit` may come.
 *
 * @param after the index of the manifest's page to begin with, as text; null to begin with the manifest itself
 */
export async function snapshotObjects(
  world: World,
  env: Env,
  name: string,
  after: string | null,
  limit: number,
): Promise<Outcome<{ version: number; items: SnapshotObject[]; next: string | null }>> {
  const { fleet, family } = world.identity
  const row = world.sql.exec<SnapshotRow>('SELECT * FROM snapshots WHERE name = ?', name).toArray()[0]
  if (!row) return fail('not_found', 'there is no such snapshot')
  const key = manifestKey(fleet, family, row.root)
  const manifest = await manifestText(env, fleet, family, row.root)
  if (manifest === null) return fail('corrupt', 'the manifest of this snapshot is missing')
  const items: SnapshotObject[] = []
  let index = Number(after ?? 0)
  if (index === 0)
    items.push({ kind: 'manifest', r2_key: key, sha256: row.root, size: Buffer.byteLength(manifest) })
  const { pages } = readManifest(manifest)
  for (; index < pages.length && items.length < limit; index++) {
    const page = pages[index]
    if (page === undefined) break
    const r2_key = pageKey(fleet, family, page.name)
    const text = await textOf(env, r2_key)
    if (text === null) return fail('corrupt', `the page ${page.name} is missing`)
    items.push({ kind: 'page', r2_key, sha256: hex(hashes.sha256(text)), size: Buffer.byteLength(text) })
    const wanted = new Map<string, string>()
    for (const item of readPage(text)) {
      for (const sha256 of blobsOf(page.kind, item)) wanted.set(sha256, formatRef(page.kind, item.key))
    }
    for (const { sha256, key: where, start, size } of locateBlobs(world.sql, [...wanted.keys()])) {
      const ref = wanted.get(sha256)
      items.push({
        kind: 'blob',
        ...(ref === undefined ? {} : { ref }),
        r2_key: where,
        sha256,
        size,
        ...(start === 0 ? {} : { offset: start }),
      })
    }
  }
  return { ok: true, version: row.version, items, next: index < pages.length ? String(index) : null }
}

/** A manifest's text; null when it is missing. */
export function manifestText(env: Env, fleet: string, family: string, root: string): Promise<string | null> {
  return textOf(env, manifestKey(fleet, family, root))
}

async function textOf(env: Env, key: string): Promise<string | null> {
  const object = await env.BLOBS.get(key)
  return object === null ? null : object.text()
}
