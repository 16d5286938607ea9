// What a session does about its bytes behind the answer: packs small blobs into R2, removes abandoned uploads, and hands back
// what a deleted session held. One thing at a time, so that no blob is packed twice.

import type { Env } from '../env.ts'
import { isAdopted, objectName, releaseObjects } from '../media/hold.ts'
import { packDue, packInline, waitingInline } from './packing.ts'
import { abandonedUploads, forgetUpload, type Remains, uploadDeadline, uploadLifeMs } from './uploads.ts'
import type { World } from './world.ts'

const objectsPerStep = 500

export class Bytes {
  readonly #world: World
  readonly #env: Env
  #last: Promise<unknown> = Promise.resolve()

  constructor(world: World, env: Env) {
    this.#world = world
    this.#env = env
  }

  /** When there is something to do, epoch milliseconds; null for never. */
  due(): number | null {
    if (this.#world.state !== 'live') return null
    const dues = [packDue(this.#world.sql), uploadDeadline(this.#world.sql)].filter((due) => due !== null)
    return dues.length === 0 ? null : Math.min(...dues)
  }

  /** Does what is due. Never throws: R2 being out of reach only makes it late. */
  async work(): Promise<'done' | 'failed'> {
    try {
      const now = Date.now()
      const due = packDue(this.#world.sql)
      if (due !== null && due <= now) await this.flush()
      await this.expire(now - uploadLifeMs)
      return 'done'
    } catch (error) {
      console.warn('bytes could not be moved', error instanceof Error ? error.message : 'unknown')
      return 'failed'
    }
  }

  /** Moves every inline blob to R2. Answers how many there were. */
  flush(): Promise<number> {
    return this.#alone(async () => {
      let packed = 0
      while (this.#world.state === 'live' && waitingInline(this.#world.sql).count > 0) {
        const moved = await packInline(this.#world, this.#env)
        if (moved === 0) break
        packed += moved
      }
      return packed
    })
  }

  /** Removes the objects of uploads that had no part since `before`, and of those that were aborted. */
  expire(before: number): Promise<void> {
    return this.#alone(async () => {
      const { fleet } = this.#world.identity
      const remains = abandonedUploads(this.#world, before)
      for (const one of remains) {
        await this.#remove(fleet, one)
        if (this.#world.state === 'live') forgetUpload(this.#world, one.upload)
      }
    })
  }

  /** Ends the holds of a deleted session, a bounded part at a time. Answers whether there is more. */
  async handBack(fleet: string, session: string): Promise<boolean> {
    const { sql } = this.#world
    if (sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'blobs'").toArray().length === 0) return false
    const uploads = sql
      .exec<Remains & Record<string, SqlStorageValue>>(
        'SELECT upload, key, multipart, sha256 FROM uploads LIMIT 100',
      )
      .toArray()
    for (const one of uploads) {
      await this.#remove(fleet, one)
      sql.exec('DELETE FROM uploads WHERE upload = ?', one.upload)
    }
    const held = sql
      .exec<{ key: string; sha256: string }>(
        'SELECT key, min(sha256) AS sha256 FROM blobs GROUP BY key LIMIT ?',
        objectsPerStep,
      )
      .toArray()
    await releaseObjects(
      this.#env,
      fleet,
      session,
      held.map(({ key, sha256 }) => objectName(key, sha256)),
    )
    for (const { key } of held) sql.exec('DELETE FROM blobs WHERE key = ?', key)
    if (uploads.length > 0 || held.length > 0) return true
    sql.exec('DROP TABLE blobs; DROP TABLE uploads')
    return false
  }

  async #remove(fleet: string, { key, multipart, sha256 }: Remains): Promise<void> {
    // Once sealed, a ledger may have made the object the fleet's own: then it is not ours to remove.
    if (sha256 !== null && (await isAdopted(this.#env, fleet, sha256, key))) return
    if (multipart !== null) {
      try {
        await this.#env.BLOBS.resumeMultipartUpload(key, multipart).abort()
      } catch {
        // Completed or aborted before: what there is goes with the key.
      }
    }
    await this.#env.BLOBS.delete(key)
  }

  #alone<T>(act: () => Promise<T>): Promise<T> {
    const next = this.#last.then(act)
    this.#last = next.catch(() => {})
    return next
  }
}
