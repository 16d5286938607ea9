// What follows an erasure: the forks that inherited the values, the pages of every snapshot that holds them, and their bytes.
// Each part can be done again, so a crash anywhere only means that it is.

import type { Env } from '../../env.ts'
import { eraseObject, holdersOf, objectName, releaseObjects } from '../../media/hold.ts'
import { pageKey } from '../../media/page-keys.ts'
import { readManifest } from '../../snapshot/manifest.ts'
import { compareKeys } from '../../snapshot/order.ts'
import { type Item, type PageRef, readPage, writePage } from '../../snapshot/page.ts'
import { findBlob, refersTo } from '../blobs.ts'
import type { Caller, SessionStub } from '../rpc.ts'
import type { World } from '../world.ts'
import { type ErasureWork, erasureDone, pendingErasures, type Target } from './erase.ts'
import { childrenOf } from './fork.ts'
import { manifestText } from './objects.ts'

/** Carries out every erasure that is not done yet. */
export async function carryOut(
  world: World,
  env: Env,
  stubOf: (session: string) => SessionStub,
): Promise<void> {
  for (const work of pendingErasures(world)) {
    await eraseInForks(world, work, stubOf)
    await eraseInPages(world, env, work.targets)
    for (const sha256 of work.blobs) await eraseBlob(world, env, sha256, stubOf)
    if (world.state === 'live') erasureDone(world, work.id)
  }
}

async function eraseInForks(
  world: World,
  { targets, actor }: ErasureWork,
  stubOf: (session: string) => SessionStub,
): Promise<void> {
  const caller: Caller = { actor }
  for (const child of childrenOf(world))
    await stubOf(child).eraseInherited(caller, world.identity.session, targets)
}

async function eraseInPages(world: World, env: Env, targets: readonly Target[]): Promise<void> {
  const { fleet, family } = world.identity
  const roots = world.sql.exec<{ root: string }>('SELECT DISTINCT root FROM snapshots').toArray()
  const done = new Set<string>()
  for (const { root } of roots) {
    const text = await manifestText(env, fleet, family, root)
    if (text === null) continue
    const { pages } = readManifest(text)
    const wanted = new Map<string, PageRef>()
    for (const target of targets) {
      const page = pageOf(pages, target)
      if (page && !done.has(page.name)) wanted.set(page.name, page)
    }
    for (const [name] of wanted) {
      await eraseInPage(env, pageKey(fleet, family, name), targets)
      done.add(name)
    }
  }
}

/** The page in which a key lies, if it lies in one: the last that begins at or before it. */
function pageOf(pages: readonly PageRef[], { kind, key }: Target): PageRef | undefined {
  return pages.findLast((page) => page.kind === kind && compareKeys(kind, page.first, key) <= 0)
}

/** The page under its old name, which covers digests alone, with nothing left of the values. */
async function eraseInPage(env: Env, key: string, targets: readonly Target[]): Promise<void> {
  const object = await env.BLOBS.get(key)
  if (object === null) return
  let changed = false
  const items = readPage(await object.text()).map((item): Item => {
    if (
      item.salt === '' ||
      !targets.some((target) => target.key === item.key && target.digest === item.digest)
    )
      return item
    changed = true
    return { key: item.key, digest: item.digest, salt: '', text: null, blob: null, size: 0, from: null }
  })
  if (!changed) return
  // Another session of the family may have erased something else in it meanwhile: then once more, from what it is now.
  const put = await env.BLOBS.put(key, writePage(items), { onlyIf: { etagMatches: object.etag } })
  if (put === null) await eraseInPage(env, key, targets)
}

/**
 * Bytes that nothing of this session names any more: out of its rows, and out of R2 unless another session needs them. Until then no
 * operation can name them: `heldBlob` looks at what is being erased.
 */
async function eraseBlob(
  world: World,
  env: Env,
  sha256: string,
  stubOf: (session: string) => SessionStub,
): Promise<void> {
  const { sql, identity } = world
  const { fleet, session } = identity
  if (refersTo(world, sha256)) return
  const found = findBlob(sql, sha256)
  sql.exec('DELETE FROM inline_blobs WHERE sha256 = ?', sha256)
  if (found === null || 'bytes' in found.place) return
  const { key, start } = found.place
  const name = objectName(key, sha256)
  const alone =
    sql.exec('SELECT 1 FROM blobs WHERE key = ? AND sha256 <> ? LIMIT 1', key, sha256).toArray().length === 0
  if (alone) await releaseObjects(env, fleet, session, [name])
  // An object of its own stays while others hold it. A pack is held for any of its blobs: whether for this one, they must say.
  const gone = alone && (await eraseObject(env, fleet, name))
  if (!gone && name !== sha256 && !(await isNeededElsewhere(world, env, name, sha256, stubOf)))
    await blank(env, key, start, found.size)
  if (world.state === 'live') sql.exec('DELETE FROM blobs WHERE sha256 = ?', sha256)
}

async function isNeededElsewhere(
  { identity }: World,
  env: Env,
  name: string,
  sha256: string,
  stubOf: (session: string) => SessionStub,
): Promise<boolean> {
  for (const holder of await holdersOf(env, identity.fleet, name)) {
    // A holder with a slash in its name is no session, and keeps what it holds.
    if (holder.includes('/')) return true
    if (holder !== identity.session && (await stubOf(holder).refersTo(sha256))) return true
  }
  return false
}

/** Overwrites a blob's place in a pack, so that the others keep theirs. */
async function blank(env: Env, key: string, start: number, size: number): Promise<void> {
  const object = await env.BLOBS.get(key)
  if (object === null) return
  const bytes = new Uint8Array(await object.arrayBuffer())
  bytes.fill(0, start, start + size)
  // Another session may be doing the same to another blob of the pack, and neither may bring back what the other took out.
  const put = await env.BLOBS.put(key, bytes, { onlyIf: { etagMatches: object.etag } })
  if (put === null) await blank(env, key, start, size)
}
