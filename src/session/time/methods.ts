// The part of a Session's surface that deals in time: snapshots, forks, diff, revert, merge.

import { hashes } from '../../crypto.ts'
import { fail, type Outcome } from '../../protocol/errors.ts'
import type { EntryKind } from '../../protocol/refs.ts'
import { sealManifest } from '../../snapshot/manifest.ts'
import type { Item, PageRef } from '../../snapshot/page.ts'
import { once } from '../answers.ts'
import { findBlob } from '../blobs.ts'
import { ByteMethods } from '../byte-methods.ts'
import { readEntry } from '../read-entries.ts'
import type { At, Caller, EntryRead, ForkInit, TimeRpc, VerifyCursor } from '../rpc.ts'
import { resolveAt } from '../time.ts'
import type { World } from '../world.ts'
import { type BlobRows, blobRows, holdForeign } from './blob-rows.ts'
import { type DiffQuery, diffVersions } from './diff.ts'
import { diffSessions } from './diff-with.ts'
import { eraseRows, findTargets, ownersOf, type Target } from './erase.ts'
import { carryOut } from './erasing.ts'
import {
  beginFork,
  childrenOf,
  type ForkSeed,
  type RowsPage,
  type RowsQuery,
  rowsForChild,
  settleChild,
} from './fork.ts'
import { type Standing, stubOf } from './forks.ts'
import { itemsOfPage } from './items.ts'
import { lineMerger } from './line-merge.ts'
import { type MergeRequest, merge } from './merge.ts'
import { mergeChanges, mergeEvents, mergeSource } from './merge-source.ts'
import { snapshotObjects } from './objects.ts'
import { pagesAt } from './page-list.ts'
import { type RevertRequest, revert } from './revert.ts'
import { dropSnapshot, listSnapshots, readSnapshot, type SnapshotRequest, takeSnapshot } from './snapshot.ts'
import { verifyStep } from './verify.ts'

export abstract class TimeMethods extends ByteMethods implements TimeRpc {
  // Snapshots

  async snapshot(caller: Caller, request: SnapshotRequest) {
    return this.with(async (world) => {
      // A snapshot names bytes in R2 alone.
      await this.bytes?.flush()
      const take = () => takeSnapshot(world, this.env, caller, request)
      const made = world.closed() ?? (await this.alone(take))
      if (made.ok) this.schedule()
      return made
    })
  }

  async listSnapshots(after: string | null, limit: number) {
    return this.with((world) => ({
      ok: true as const,
      version: world.head.version,
      ...listSnapshots(world, after, limit),
    }))
  }

  async readSnapshot(name: string) {
    return this.with((world) => readSnapshot(world, name))
  }

  async snapshotObjects(name: string, after: string | null, limit: number) {
    return this.with((world) => snapshotObjects(world, this.env, name, after, limit))
  }

  async dropSnapshot(caller: Caller, name: string) {
    return this.with((world) => {
      const dropped = once(world, caller.idempotency, () => dropSnapshot(world, name))
      if (dropped.ok) this.schedule()
      return dropped
    })
  }

  // Diff, revert, merge

  async diff(query: DiffQuery) {
    return this.with((world) => diffVersions(world, query))
  }

  async diffWith(other: string, query: DiffQuery) {
    return this.with((world) => diffSessions(world, stubOf(this.env, world.identity.fleet, other), query))
  }

  async revert(caller: Caller, request: RevertRequest) {
    return this.with(this.committing((world) => revert(world, caller, request)))
  }

  async merge(caller: Caller, request: MergeRequest) {
    return this.with(async (world) => {
      const { fleet, session } = world.identity
      if (request.from === session)
        return fail('invalid', 'a session cannot be merged into itself', { pointer: '/from' })
      const before = world.head.version
      const other = stubOf(this.env, fleet, request.from)
      const find = async (sha256: string) => {
        const here = findBlob(world.sql, sha256)
        if (here !== null) return here
        const there = await other.findBlob(sha256)
        return there.ok ? there : null
      }
      const outcome = await merge(world, other, caller, request, {
        mergeLines: lineMerger(this.env, world.identity, find),
        takeBlobs: async (digests) => {
          const rows = await other.forkBlobs(digests)
          await holdForeign(this.env, world.identity, rows)
          return rows
        },
      })
      if (world.state === 'live' && world.head.version > before) this.committed()
      return outcome
    })
  }

  async mergeSource() {
    return this.with(mergeSource)
  }

  async mergeChanges(base: number, version: number, after: string | null) {
    return this.with((world) => mergeChanges(world, base, version, after))
  }

  async mergeEvents(base: number, version: number, after: number) {
    return this.with((world) => mergeEvents(world, base, version, after))
  }

  async pageList(at: At) {
    return this.with((world): Outcome<{ version: number; pages: PageRef[] }> => {
      const resolved = resolveAt(world, at)
      if (!resolved.ok) return resolved
      const pages = pagesAt(world, resolved.version).map(({ kind, first, count, name }) => ({
        kind,
        first,
        count,
        name,
      }))
      return { ok: true, version: resolved.version, pages }
    })
  }

  async pageItems(page: PageRef, version: number): Promise<Item[]> {
    return this.world ? itemsOfPage(this.world, page, version) : []
  }

  // Proving and erasing

  async verifyStep(cursor: VerifyCursor) {
    return this.with(async (world) => {
      await this.bytes?.flush()
      const closed = world.closed()
      return (
        closed ?? {
          ok: true as const,
          version: world.head.version,
          ...(await verifyStep(world, this.env, cursor)),
        }
      )
    })
  }

  async root() {
    return this.with((world) => {
      const { root } = sealManifest(hashes, { pages: pagesAt(world, world.head.version) })
      return { ok: true as const, version: world.head.version, digest: world.head.digest, root }
    })
  }

  /** Where erasing these references has to begin: by the session that wrote each of their values. */
  async eraseOwners(refs: string[]) {
    return this.with((world) => {
      const found = findTargets(world, refs)
      if (!found.ok) return found
      return {
        ok: true as const,
        owners: [...ownersOf(world, found.targets)].map(([session, targets]) => ({ session, targets })),
      }
    })
  }

  async erase(caller: Caller, targets: Target[], message?: string) {
    return this.with(async (world) => {
      const outcome = this.committing(() => eraseRows(world, caller, targets, { message }))(world)
      if (outcome.ok) await this.carryOut(world)
      return outcome
    })
  }

  /** What a parent erased, this fork must not keep. One that was deleted passes it on to its own forks. */
  async eraseInherited(caller: Caller, parent: string, targets: Target[]): Promise<void> {
    const world = this.world
    if (!world || world.state === 'new') return
    if (world.state === 'deleted') return this.relayErase(caller, targets)
    if (world.identity.origin?.session !== parent) return
    if (this.forks?.pending) await this.forks.takeOver()
    const { version } = world.identity.origin
    const inherited = targets.filter(({ since }) => since <= version)
    if (inherited.length > 0) await this.erase(caller, inherited)
  }

  /** An erasure that begins in a deleted session reaches its forks all the same. */
  async relayErase(caller: Caller, targets: Target[]): Promise<void> {
    const { world } = this
    if (world?.state !== 'deleted') return
    const { fleet, session }: { fleet: string; session: string } = JSON.parse(world.meta('deleted') ?? '{}')
    for (const child of childrenOf(world))
      await stubOf(this.env, fleet, child).eraseInherited(caller, session, targets)
  }

  private async carryOut(world: World): Promise<void> {
    await carryOut(world, this.env, (session) => stubOf(this.env, world.identity.fleet, session))
  }

  // Forks

  async beginFork(at: At, child: string) {
    return this.with((world) => beginFork(world, at, child))
  }

  async adopt(caller: Caller, init: ForkInit, seed: ForkSeed) {
    if (!this.forks) return fail('unavailable', 'this session was written by a newer version of Lares')
    const outcome = this.forks.adopt(caller, init, seed)
    if (outcome.ok) this.schedule()
    return outcome
  }

  async forkRows(query: RowsQuery): Promise<RowsPage> {
    if (this.forks?.pending) await this.forks.takeOver()
    const rows = this.rows()
    // A restored session has no past to hand over; a child must not take that for an empty one.
    if (rows.state === 'live' && query.version < rows.identity.floor)
      throw new Error('the rows of this version were lost')
    return rowsForChild(rows, query)
  }

  async forkBlobs(digests: string[]): Promise<BlobRows> {
    return blobRows(this.rows(), digests)
  }

  async forkEntry(kind: EntryKind, key: string, version: number): Promise<Outcome<EntryRead>> {
    if (this.forks?.pending) return this.forks.entryFromParent(kind, key, { version })
    return readEntry(this.rows(), kind, key, { version })
  }

  async forkSettled(child: string): Promise<void> {
    if (this.world && !this.world.buried) settleChild(this.world, child)
  }

  async forkStanding(parent: string): Promise<Standing> {
    // One of a newer schema is nobody's to judge; it had its rows when it was brought there.
    return this.forks?.standing(parent) ?? 'settled'
  }

  /** The rows a child asks for: of a deleted session too, while it has them. */
  private rows() {
    if (!this.world || this.world.state === 'new' || this.world.buried)
      throw new Error('this session has no rows to hand over')
    return this.world
  }
}
