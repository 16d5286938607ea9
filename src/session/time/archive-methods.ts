// The part of a Session's surface that deals in whole worlds: reading one out, and taking one in.

import { fail, type Outcome } from '../../protocol/errors.ts'
import type { PageRef } from '../../snapshot/page.ts'
import type { ArchiveRpc, ExportOf, Founding, Part } from '../archive-rpc.ts'
import { locateBlobs } from '../blobs.ts'
import { newerSchema } from '../object.ts'
import type { At, Caller } from '../rpc.ts'
import { resolveAt } from '../time.ts'
import type { World } from '../world.ts'
import { archiveHeadOf, exportBlobs, exportCommits, exportPages, exportPast, wasTouched } from './archive.ts'
import { holdFamily } from './family.ts'
import { stageBegin, stageEnd, stageLifeMs, stagePart, stageProblem } from './import.ts'
import { stageCheck } from './import-check.ts'
import { TimeMethods } from './methods.ts'

/** How long an export may be silent before it is taken for cut off. */
const exportLifeMs = 600_000

export abstract class ArchiveMethods extends TimeMethods implements ArchiveRpc {
  /** Exports that run, each with what keeps its version from being pruned. */
  readonly #exports = new Map<string, { letGo: () => void; at: number }>()

  // Reading out

  async exportBegin(at: At, journal: boolean) {
    return this.with(async (world) => {
      // An archive takes its bytes from R2 alone.
      await this.bytes?.flush()
      const resolved = world.closed() ?? resolveAt(world, at)
      if (!resolved.ok) return resolved
      const hold = this.#hold(world, resolved.version)
      const plan = archiveHeadOf(world, resolved.version, journal)
      return { ok: true as const, ...plan, hold, began: world.head.version }
    })
  }

  async exportBlobs(of: ExportOf, after: SqlStorageValue[] | null) {
    return this.#reading(of, (world) => exportBlobs(world, of.head, after))
  }

  async exportPages(of: ExportOf, pages: PageRef[]) {
    return this.#reading(of, (world) => exportPages(world, of.head, pages))
  }

  async exportPast(of: ExportOf, after: SqlStorageValue[] | null) {
    return this.#reading(of, (world) => ({ ok: true as const, ...exportPast(world, of.head, after) }))
  }

  async exportCommits(of: ExportOf, after: SqlStorageValue[] | null) {
    return this.#reading(of, (world) => ({ ok: true as const, ...exportCommits(world, of.head, after) }))
  }

  async exportEnd(of: ExportOf) {
    return this.#reading(of, (world): Outcome<object> => {
      this.#exports.get(of.hold)?.letGo()
      this.#exports.delete(of.hold)
      return wasTouched(world, of.head, of.began)
        ? fail('unavailable', 'something of this world was pruned or erased meanwhile; export it again')
        : { ok: true }
    })
  }

  #reading<T>(of: ExportOf, read: (world: World) => T) {
    const running = this.#exports.get(of.hold)
    if (running) running.at = Date.now()
    return this.with(read)
  }

  #hold(world: World, version: number): string {
    const now = Date.now()
    for (const [id, { at, letGo }] of this.#exports) {
      if (at > now - exportLifeMs) continue
      letGo()
      this.#exports.delete(id)
    }
    const id = crypto.randomUUID()
    this.#exports.set(id, { letGo: world.hold(version), at: now })
    return id
  }

  // Taking in

  async stageBegin(caller: Caller, stage: string, overEmpty = false) {
    const { world } = this
    if (!world) return newerSchema()
    const now = Date.now()
    const begun = stageBegin(world, caller, { stage, overEmpty }, now)
    if (begun.ok && begun.done === null) this.ctx.storage.setAlarm(now + stageLifeMs)
    return begun
  }

  async stagePart(stage: string, part: Part) {
    return this.#staging(stage, (world) => stagePart(world, stage, part, Date.now()))
  }

  async stagePlaces(stage: string, digests: string[]) {
    return this.#staging(stage, (world) => ({ ok: true as const, blobs: locateBlobs(world.sql, digests) }))
  }

  async stageCheck(stage: string, founding: Founding, after: number) {
    return this.#staging(stage, (world) => stageCheck(world, founding, after))
  }

  async stageEnd(caller: Caller, stage: string, founding: Founding) {
    const { fleet, session, family } = founding
    // Before the rows that make it a member of the family.
    if (family !== null) await holdFamily(this.env, { fleet, session, family })
    return this.#staging(stage, (world) => {
      const ended = stageEnd(world, caller, founding, this.env.LARES_DIGEST_SECRET)
      if (ended.ok) this.schedule()
      return ended
    })
  }

  async stageDrop(stage: string): Promise<void> {
    if (this.world && stageProblem(this.world, stage) === null) this.world.unstage()
  }

  #staging<T>(stage: string, act: (world: World) => Outcome<T>): Outcome<T> {
    const { world } = this
    if (!world) return newerSchema()
    return stageProblem(world, stage) ?? act(world)
  }
}
