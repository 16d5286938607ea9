// Every snapshot's manifest, pages, and the values in them: the hashes that make a snapshot what it says it is.

import { hashes, hex, unhex } from '../../crypto.ts'
import type { Env } from '../../env.ts'
import { manifestKey, pageKey } from '../../media/page-keys.ts'
import { type Canonical, canonical } from '../../protocol/canonical.ts'
import { eventValue, valueDigest } from '../../protocol/digests.ts'
import { formatRef, type RefKind } from '../../protocol/refs.ts'
import { readManifest } from '../../snapshot/manifest.ts'
import { type Item, type PageRef, pageName, readPage } from '../../snapshot/page.ts'
import { locateBlobs } from '../blobs.ts'
import { blobsOf } from '../blobs-present.ts'
import type { World } from '../world.ts'
import type { Tally } from './verify.ts'

const pagesPerStep = 200

export async function verifySnapshots(world: World, env: Env, tally: Tally, after: (string | number)[]) {
  const [name = '', index = 0] = after
  const row = world.sql
    .exec<{ name: string; root: string }>(
      'SELECT name, root FROM snapshots WHERE name >= ? ORDER BY name LIMIT 1',
      name,
    )
    .toArray()[0]
  if (row === undefined) return null
  const begin = row.name === name ? Number(index) : 0
  const pages = await manifestOf(world, env, tally, row)
  const end = Math.min(pages.length, begin + pagesPerStep)
  for (const page of pages.slice(begin, end)) await verifyPage(world, env, tally, row.name, page)
  // The next name there can be, so that the next step finds what follows.
  return end < pages.length ? [row.name, end] : [`${row.name}\0`, 0]
}

async function manifestOf(
  world: World,
  env: Env,
  tally: Tally,
  { name, root }: { name: string; root: string },
) {
  const { fleet, family } = world.identity
  const object = await env.BLOBS.get(manifestKey(fleet, family, root))
  const text = object === null ? null : await object.text()
  const sound = text !== null && hex(hashes.sha256(text)) === root
  tally.check(
    sound,
    `snap:${name}`,
    text === null ? 'the manifest is missing' : 'the manifest has another root',
  )
  return sound ? readManifest(text).pages : []
}

async function verifyPage(
  world: World,
  env: Env,
  tally: Tally,
  snapshot: string,
  page: PageRef,
): Promise<void> {
  const { fleet, family } = world.identity
  const where = `snap:${snapshot} page ${page.name}`
  const object = await env.BLOBS.get(pageKey(fleet, family, page.name))
  if (object === null) return tally.check(false, where, 'the page is missing')
  const items = readItems(await object.text())
  if (items === null) return tally.check(false, where, 'the page does not read back')
  tally.check(
    pageName(hashes, page.kind, items) === page.name && items.length === page.count,
    where,
    'the page has another name',
  )
  for (const item of items) {
    const { key, salt, digest } = item
    tally.check(
      placesHold(world, page.kind, item),
      `snap:${snapshot} ${formatRef(page.kind, key)}`,
      'its blobs lie elsewhere',
    )
    tally.check(
      item.size === sizeOf(page.kind, item),
      `snap:${snapshot} ${formatRef(page.kind, key)}`,
      'the size does not match',
    )
    if (salt === '') tally.erased++
    else {
      const value = await wholeText(env, page.kind, item)
      const found = value === null ? null : hex(valueDigest(hashes, unhex(salt), value))
      tally.check(
        found === digest,
        `snap:${snapshot} ${formatRef(page.kind, key)}`,
        'the digest does not match',
      )
    }
  }
}

/** All that an item's digest covers; a large value, or an event's large payload, is read from where the page says it lies. */
async function wholeText(env: Env, kind: RefKind, { text, blob, places }: Item): Promise<Canonical | null> {
  // What a row held was canonical.
  if (blob === null) return text as Canonical | null
  const place = places?.find(([sha256]) => sha256 === blob)
  if (place === undefined) return null
  const [, key, offset, length] = place
  const object = await env.BLOBS.get(key, { range: { offset, length } })
  if (object === null) return null
  const value = (await object.text()) as Canonical
  if (kind !== 'log') return value
  const { type, lane, key: correlation, parent } = JSON.parse(text ?? '{}')
  return eventValue({ type, lane, payload: value, key: correlation, parent })
}

/** A page says where the blobs of its items lie, as this session knows it. */
function placesHold({ sql }: World, kind: RefKind, item: Item): boolean {
  const blobs = blobsOf(kind, item)
  if (blobs.length === 0) return item.places === undefined
  const here = locateBlobs(sql, blobs).map(({ sha256, key, start, size }) => [sha256, key, start, size])
  return JSON.stringify(here) === JSON.stringify(item.places)
}

/** What an item's size has to be: a file's, its bytes; an event's, its payload's; else, the value's own. */
function sizeOf(kind: RefKind, { text, blob, size, salt }: Item): number {
  if (salt === '') return 0
  if (text === null || blob !== null) return size
  if (kind === 'file') return JSON.parse(text).size
  return Buffer.byteLength(kind === 'log' ? canonical(JSON.parse(text).payload) : text)
}

function readItems(text: string) {
  try {
    return readPage(text)
  } catch {
    return null
  }
}
