// `…/restore`: a session whose object lost its rows is founded again from a snapshot: its pages and blobs are in R2, and what they
// do not tell (who the session was, when its events were) is in the catalog. The same checks as for an archive.

import { ulid } from 'ulid'
import {
  type BlobPlace,
  commitStamp,
  eventStamps,
  findLost,
  findSnapshot,
  firstEvent,
  type LostSession,
  rewind,
  type SnapshotRow,
  snapshotBlobs,
  snapshotsUpTo,
} from '../catalog/index.ts'
import { holdObjects, objectName } from '../media/hold.ts'
import { manifestKey, pageKey } from '../media/page-keys.ts'
import type { Canonical } from '../protocol/canonical.ts'
import { genesis } from '../protocol/digests.ts'
import { fail } from '../protocol/errors.ts'
import type { Founding } from '../session/archive-rpc.ts'
import type { Caller } from '../session/rpc.ts'
import { members } from '../snapshot/archive.ts'
import type { Manifest } from '../snapshot/manifest.ts'
import type { Item, PageRef } from '../snapshot/page.ts'
import type { Imported } from './archive-in.ts'
import { callerOf } from './caller.ts'
import type { Visit } from './door.ts'
import { type Beside, checkManifest, Intake } from './intake.ts'
import { Problem } from './reply.ts'
import { Staging } from './staging.ts'

const blobsPerStep = 2000
/** Looks at R2 at one time. */
const parallel = 6

export async function restoreSession(visit: Visit, name: string, asked: string): Promise<Imported> {
  const { c, who, session, stub } = visit
  const found = { fleet: who.fleet, session, name }
  const lost = await findLost(c.env.CATALOG, found)
  if (lost === null) throw new Problem(fail('not_found', 'the catalog knows of no such session'))
  const snapshot = await findSnapshot(c.env.CATALOG, found)
  if (snapshot === null)
    throw new Problem(fail('not_found', 'the catalog knows of no such snapshot', { pointer: '/snapshot' }))
  const stage = ulid()
  const caller = callerOf(c, asked)
  const begun = await stub.stageBegin(caller, stage, true)
  if (!begun.ok) throw new Problem(begun)
  if (begun.done !== null) return begun.done
  try {
    return await new Restore(visit, new Staging(stub, c.env.BLOBS, stage), lost, snapshot).run(caller)
  } catch (error) {
    await stub.stageDrop(stage).catch(() => {})
    throw error
  }
}

class Restore {
  readonly #visit: Visit
  readonly #staging: Staging
  readonly #lost: LostSession
  readonly #snapshot: SnapshotRow
  readonly #sizes = new Map<string, number | null>()

  constructor(visit: Visit, staging: Staging, lost: LostSession, snapshot: SnapshotRow) {
    this.#visit = visit
    this.#staging = staging
    this.#lost = lost
    this.#snapshot = snapshot
  }

  async run(caller: Caller): Promise<Imported> {
    const manifest = await this.#manifest()
    await this.#blobs()
    await this.#pages(manifest)
    await this.#staging.flush()
    const { stub, c } = this.#visit
    const { version, digest } = this.#snapshot
    const founding = await this.#founding()
    // The catalog goes back first: what came after the snapshot is lost, and its numbers come again.
    await rewind(c.env.CATALOG, this.#name, version, digest)
    const ended = await stub.stageEnd(caller, this.#staging.stage, founding)
    if (!ended.ok) throw new Problem(ended)
    return { version: ended.version, session: ended.session }
  }

  get #name() {
    return { fleet: this.#visit.who.fleet, session: this.#visit.session, name: this.#snapshot.name }
  }

  async #manifest(): Promise<Manifest> {
    const { root, family } = this.#snapshot
    const text = await this.#text(members.manifest, manifestKey(this.#visit.who.fleet, family, root))
    return checkManifest(members.manifest, text, root)
  }

  async #text(name: string, key: string): Promise<string> {
    const object = await this.#visit.c.env.BLOBS.get(key)
    if (object === null) throw new Problem(fail('corrupt', `${name} of this snapshot is missing`))
    return object.text()
  }

  /** Blobs where the catalog says they lie, as far as they do. */
  async #blobs(): Promise<void> {
    for (let after = ''; ; ) {
      const blobs = await snapshotBlobs(this.#visit.c.env.CATALOG, this.#name, after, blobsPerStep)
      await this.#hold(blobs)
      const last = blobs.at(-1)
      if (last === undefined || blobs.length < blobsPerStep) return
      after = last.sha256
    }
  }

  /** Holds the objects in which blobs lie, and hands their places over. */
  async #hold(blobs: readonly BlobPlace[]): Promise<void> {
    const { c, who, session } = this.#visit
    await this.#look(blobs.map(({ key }) => key))
    const there = blobs.filter(({ key, start, size }) => (this.#sizes.get(key) ?? -1) >= start + size)
    const wanted = there.map(({ key, sha256 }) => {
      const size = this.#sizes.get(key) ?? 0
      return { name: objectName(key, sha256), key, size, stored: true }
    })
    const holds = await holdObjects(c.env, who.fleet, session, wanted)
    for (const [i, { sha256, key, start, size }] of there.entries()) {
      // The ledger's word on where a blob of its own lies is the newer one.
      const place = { key: holds[i]?.key ?? key, start }
      await this.#staging.blob({ sha256, size, place })
    }
    await this.#staging.flush()
  }

  async #look(keys: readonly string[]): Promise<void> {
    const unknown = [...new Set(keys)].filter((key) => !this.#sizes.has(key))
    for (let i = 0; i < unknown.length; i += parallel) {
      const some = unknown.slice(i, i + parallel)
      const heads = await Promise.all(some.map((key) => this.#visit.c.env.BLOBS.head(key)))
      for (const [j, key] of some.entries()) this.#sizes.set(key, heads[j]?.size ?? null)
    }
  }

  async #pages(manifest: Manifest): Promise<void> {
    const { fleet } = this.#visit.who
    const intake = new Intake(this.#staging, manifest)
    const stamps = await this.#stamps()
    for (const [index, page] of manifest.pages.entries()) {
      const key = pageKey(fleet, this.#snapshot.family, page.name)
      const items = intake.read(index, await this.#text(members.page(page.name), key))
      await this.#holdPlaces(items)
      await intake.take(index, items, await stamps(page))
    }
  }

  /** Blobs of which the catalog had not heard yet, where the page itself says they lie. */
  async #holdPlaces(items: readonly Item[]): Promise<void> {
    const places = new Map<string, BlobPlace>()
    for (const [sha256, key, start, size] of items.flatMap((item) => item.places ?? []))
      places.set(sha256, { sha256, key, start, size })
    for (const sha256 of (await this.#staging.places([...places.keys()])).keys()) places.delete(sha256)
    if (places.size > 0) await this.#hold([...places.values()])
  }

  /** What stands beside a page's items: of events what the catalog knows, and of entries that they are as old as the world here. */
  async #stamps(): Promise<(page: PageRef) => Promise<Beside>> {
    const { CATALOG } = this.#visit.c.env
    const { version } = this.#snapshot
    const { origin, created_at } = this.#lost
    const commit = await commitStamp(CATALOG, this.#name, version)
    const first = (await firstEvent(CATALOG, this.#name)) ?? Number.POSITIVE_INFINITY
    const at = (time: number) => new Date(time).toISOString()
    const newest = {
      version,
      at: at(commit?.at ?? this.#snapshot.created_at),
      actor: commit?.actor ?? unknown,
    }
    // Inherited events are in the catalog under the ancestor that wrote them.
    const inherited =
      origin === null ? newest : { version: origin.version, at: at(created_at), actor: unknown }
    return async (page) => {
      const from = Number(page.first)
      const stamps =
        page.kind === 'log' ? await eventStamps(CATALOG, this.#name, from, from + page.count - 1) : []
      const known = new Map(stamps.map((stamp) => [stamp.seq, { ...stamp, at: at(stamp.at) }]))
      return {
        since: () => version,
        event: (index) => known.get(from + index) ?? (from + index < first ? inherited : newest),
      }
    }
  }

  async #founding(): Promise<Founding> {
    const { CATALOG } = this.#visit.c.env
    const { fleet, session } = this.#name
    const { version, digest, family, events, entries, created_at } = this.#snapshot
    const { children, ...lost } = this.#lost
    const commit = await commitStamp(CATALOG, this.#name, version)
    const snapshots = await snapshotsUpTo(CATALOG, this.#name, version)
    return {
      fleet,
      session,
      ...lost,
      family,
      version,
      digest,
      floor: version,
      pruned: 0,
      events,
      entries,
      commit:
        digest === genesis
          ? null
          : commit === null
            ? { at: created_at, actor: unknown, message: null, cause: null }
            : // What the outbox sent was canonical.
              { ...commit, cause: commit.cause as Canonical | null },
      restored: true,
      // No lease can have been taken as often as there have been seconds: no epoch comes twice.
      epoch: Math.floor(Date.now() / 1000),
      snapshots: snapshots.map((one) => ({ ...one, pages: 0 })),
      children,
    }
  }
}

/** Who wrote something of which no record is left. */
const unknown = 'unknown'
