// The part of a Session's surface that deals in bytes: which blobs it holds, and uploads in flight.

import { fail, type Outcome } from '../protocol/errors.ts'
import type { BlobRpc, NewBlob, TreeQuery, UploadPart, UploadShown } from './blob-rpc.ts'
import { findBlob, holdBlobs, locateBlobs, missingBlobs, refersTo, unneededKeys } from './blobs.ts'
import { newerSchema, SessionObject } from './object.ts'
import { noteOffers, unnameable } from './offers.ts'
import { listTree } from './read-entries.ts'
import { Refusal } from './refusal.ts'
import type * as Rpc from './rpc.ts'
import { abortUpload, addPart, beginUpload, readUpload, sealUpload } from './uploads.ts'

export abstract class ByteMethods extends SessionObject implements BlobRpc {
  async holdBlobs(caller: Rpc.Caller, blobs: NewBlob[], shown: string[] = []) {
    return this.writing(caller, (world) => {
      try {
        world.storage.transactionSync(() => {
          const now = Date.now()
          holdBlobs(world, blobs, now)
          noteOffers(world, caller, [...blobs.map(({ sha256 }) => sha256), ...shown], now)
        })
      } catch (error) {
        if (error instanceof Refusal) return error.failure
        throw error
      }
      this.schedule()
      return { ok: true as const, version: world.head.version }
    })
  }

  async beginUpload(caller: Rpc.Caller, upload: Omit<UploadShown, 'state' | 'blob'>) {
    return this.writing(caller, (world) => {
      beginUpload(world, upload, Date.now())
      this.schedule()
      return { ok: true as const, version: world.head.version }
    })
  }

  async readUpload(upload: string) {
    return this.with((world) => readUpload(world, upload))
  }

  async addPart(caller: Rpc.Caller, upload: string, part: UploadPart) {
    return this.writing(caller, (world) => addPart(world, upload, part, Date.now()))
  }

  async sealUpload(caller: Rpc.Caller, upload: string, sha256: string, size: number) {
    return this.writing(caller, (world) => sealUpload(world, upload, sha256, size, Date.now()))
  }

  async abortUpload(caller: Rpc.Caller, upload: string) {
    return this.writing(caller, (world) => {
      const aborted = abortUpload(world, upload)
      if (aborted.ok) this.schedule()
      return aborted
    })
  }

  async findBlob(sha256: string) {
    return this.with((world) => {
      const found = findBlob(world.sql, sha256)
      if (!found) return fail('not_found', 'this session does not hold this blob')
      return { ok: true as const, version: world.head.version, ...found }
    })
  }

  async listTree(query: TreeQuery) {
    return this.with((world) => listTree(world, query))
  }

  async missingBlobs(digests: string[], caller?: Rpc.Caller) {
    return this.with((world) => {
      const hidden = new Set(caller === undefined ? [] : unnameable(world, caller, digests))
      const shown = digests.filter((sha256) => !hidden.has(sha256))
      const missing = new Set([...hidden, ...missingBlobs(world, shown, Date.now())])
      return {
        ok: true as const,
        version: world.head.version,
        missing: digests.filter((sha256) => missing.has(sha256)),
      }
    })
  }

  async locateBlobs(digests: string[] | null) {
    await this.flushBlobs()
    return this.with((world) => ({
      ok: true as const,
      version: world.head.version,
      blobs: locateBlobs(world.sql, digests),
    }))
  }

  /** Of a session that ends too, while a fork may still take over its rows. */
  async refersTo(sha256: string): Promise<boolean> {
    const { world } = this
    if (!world) throw new Error('this session was written by a newer version of Lares')
    return world.state !== 'new' && !world.buried && refersTo(world, sha256)
  }

  async flushBlobs(): Promise<Outcome<{ packed: number }>> {
    const closed = this.world ? this.world.closed() : newerSchema()
    if (closed) return closed
    return { ok: true, packed: (await this.bytes?.flush()) ?? 0 }
  }

  async unneededKeys(
    keys: string[],
    before: number,
    act: boolean,
  ): Promise<Outcome<{ keys: readonly string[] }>> {
    const { world } = this
    if (world?.state === 'staged')
      return fail('unavailable', 'a world is being imported under this name', { retry_after: 60 })
    // A session that ends needs its bytes until the last fork has taken over what it needs: only a buried one is gone.
    if (world && world.state !== 'new' && !world.buried && world.closed() !== null)
      return fail('unavailable', 'the session is ending', { retry_after: 60 })
    return this.with((world) => ({ ok: true as const, keys: unneededKeys(world, keys, before, act) }))
  }

  async expireUploads(before: number): Promise<Outcome<object>> {
    const closed = this.world ? this.world.closed() : newerSchema()
    if (closed) return closed
    await this.bytes?.expire(before)
    return { ok: true }
  }
}
