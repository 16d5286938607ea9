// Blobs of an archive on their way to R2: each verified against its name, held by the ledger before it is written, and small ones
// packed together.

import { ulid } from 'ulid'
import { hashes, hex } from '../crypto.ts'
import { describeBytes } from '../media/describe.ts'
import { holdObject } from '../media/hold.ts'
import { packKey, packName } from '../media/keys.ts'
import { Pack } from '../media/pack.ts'
import { headBytes, readUpTo } from '../media/stream.ts'
import { limits } from '../protocol/limits.ts'
import { members } from '../snapshot/archive.ts'
import { type ArchiveReader, refused } from './archive-reader.ts'
import type { Visit } from './door.ts'
import { Problem } from './reply.ts'
import type { Staging } from './staging.ts'
import { putOwn, storeClaimed } from './store-blob.ts'

export class ArchiveBlobs {
  readonly #visit: Visit
  readonly #staging: Staging
  #pack = new Pack()
  count = 0

  constructor(visit: Visit, staging: Staging) {
    this.#visit = visit
    this.#staging = staging
  }

  /** Stores the reader's next member as the blob of this SHA-256. */
  async take(reader: ArchiveReader, sha256: string): Promise<void> {
    const name = members.blob(sha256)
    const { size, source } = await reader.stream(name)
    if (size > limits.requestFileBytes)
      throw refused(name, `larger than ${limits.requestFileBytes} bytes`, 'too_large')
    if (size > limits.smallFileBytes) {
      try {
        const stored = await storeClaimed(this.#visit, source, size, sha256)
        if ('code' in stored)
          throw new Problem({ ...stored, detail: `${name}: ${stored.detail}`, pointer: name })
        await this.#staging.blob(stored)
      } catch (error) {
        throw reader.broken ?? error
      }
    } else await this.#small(name, sha256, (await readUpTo(source, size)).bytes)
    reader.note(name, sha256)
    this.count++
  }

  async #small(name: string, sha256: string, bytes: Uint8Array): Promise<void> {
    const found = hex(hashes.sha256(bytes))
    if (found !== sha256) throw refused(name, `its bytes have the SHA-256 ${found}`, 'digest_mismatch')
    const size = bytes.byteLength
    const media = await describeBytes(bytes.subarray(0, headBytes), size)
    if (size > limits.packedBlobBytes) {
      const key = await putOwn(this.#visit, sha256, bytes)
      return this.#staging.blob({ sha256, size, place: { key, start: 0 }, media })
    }
    if (this.#pack.isFullFor(size)) await this.flush()
    this.#pack.add(sha256, bytes, media)
  }

  /** Writes the pack that is being filled. */
  async flush(): Promise<void> {
    const packed = this.#pack
    this.#pack = new Pack()
    if (packed.blobs.length === 0) return
    const { c, who, session } = this.#visit
    const pack = ulid()
    const wanted = { name: packName(pack), key: packKey(who.fleet, pack), size: packed.size }
    const { key } = await holdObject(c.env, who.fleet, session, wanted)
    await c.env.BLOBS.put(key, packed.bytes())
    for (const { sha256, size, start, media } of packed.blobs)
      await this.#staging.blob({ sha256, size, place: { key, start }, media })
  }
}
