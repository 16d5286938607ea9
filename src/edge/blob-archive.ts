// `POST …/blobs`: many blobs in one streamed request, packed into few objects. What an entry is named is checked against its
// bytes; an archive with anything wrong in it leaves nothing that the session holds.

import { createTarDecoder } from 'modern-tar'
import { ulid } from 'ulid'
import { hashes, hex } from '../crypto.ts'
import { describeBytes } from '../media/describe.ts'
import { holdObject } from '../media/hold.ts'
import { packKey, packName } from '../media/keys.ts'
import { Pack } from '../media/pack.ts'
import { headBytes, sourceOf } from '../media/stream.ts'
import { fail } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import { sha256Pattern } from '../protocol/names.ts'
import type { NewBlob } from '../session/blob-rpc.ts'
import { callerOf } from './caller.ts'
import type { Visit } from './door.ts'
import { readQuery } from './query.ts'
import { Problem, replyFailure, replyJson } from './reply.ts'
import { putOwn, requireUpload, storeClaimed } from './store-blob.ts'

export async function storeArchive(visit: Visit): Promise<Response> {
  const { c, who, stub } = visit
  readQuery(c, [])
  requireUpload(who)
  const type = c.req.header('content-type')
  if (type === undefined || !/^application\/x-tar\s*(;|$)/i.test(type))
    throw new Problem(fail('unsupported_media_type', 'this takes application/x-tar'))
  const { blobs, shown } = await new Archive(visit).read(c.req.raw.body ?? new Blob([]).stream())
  const held = await stub.holdBlobs(callerOf(c, ''), blobs, shown)
  if (!held.ok) return replyFailure(c, held)
  const bytes = blobs.reduce((sum, blob) => sum + blob.size, 0)
  return replyJson(c, { stored: blobs.length, bytes }, { version: held.version })
}

class Archive {
  readonly #visit: Visit
  readonly #blobs: NewBlob[] = []
  readonly #shown: string[] = []
  readonly #seen = new Set<string>()
  #pack = new Pack()

  constructor(visit: Visit) {
    this.#visit = visit
  }

  /** Stores every blob of the archive that the session does not hold yet; `shown` are those that it does. */
  async read(archive: ReadableStream<Uint8Array>): Promise<{ blobs: NewBlob[]; shown: string[] }> {
    const decoder = createTarDecoder({ strict: true })
    const feeding = archive.pipeTo(decoder.writable)
    feeding.catch(() => {})
    try {
      for await (const { header, body } of decoder.readable) {
        const sha256 = header.name.replace(/^\.\//, '')
        if (header.type === 'directory') {
          await body.cancel()
          continue
        }
        if (header.type !== 'file' || !sha256Pattern.test(sha256))
          throw refused(`the entry ${JSON.stringify(header.name)} is no file named by its SHA-256`)
        if (this.#seen.size >= limits.archiveBlobs) {
          throw new Problem(
            fail('too_large', `an archive may hold ${limits.archiveBlobs} blobs`, {
              limit: limits.archiveBlobs,
            }),
          )
        }
        if (this.#seen.has(sha256)) await body.cancel()
        else await this.#entry(sha256, header.size, body)
        this.#seen.add(sha256)
      }
      await feeding
    } catch (error) {
      if (
        error instanceof Problem ||
        !(error instanceof Error) ||
        !/tar|archive|truncated|unexpected/i.test(error.message)
      )
        throw error
      throw refused(`not a tar archive: ${error.message}`)
    }
    await this.#flush()
    return { blobs: this.#blobs, shown: this.#shown }
  }

  async #entry(sha256: string, size: number, body: ReadableStream<Uint8Array>): Promise<void> {
    if (size > limits.smallFileBytes) {
      const stored = await storeClaimed(this.#visit, sourceOf(body), size, sha256)
      if ('code' in stored) throw new Problem(stored)
      this.#blobs.push(stored)
      return
    }
    const bytes = new Uint8Array(await new Response(body).arrayBuffer())
    const found = hex(hashes.sha256(bytes))
    if (found !== sha256)
      throw new Problem(fail('digest_mismatch', `the entry ${sha256} has the SHA-256 ${found}`))
    const media = await describeBytes(bytes.subarray(0, headBytes), size)
    if (size > limits.packedBlobBytes) {
      const key = await putOwn(this.#visit, sha256, bytes)
      this.#blobs.push({ sha256, size, place: { key, start: 0 }, media })
      return
    }
    if (this.#pack.isFullFor(size)) await this.#flush()
    this.#pack.add(sha256, bytes, media)
  }

  async #flush(): Promise<void> {
    const { c, who, session, stub } = this.#visit
    const packed = this.#pack
    this.#pack = new Pack()
    if (packed.blobs.length === 0) return
    const answer = await stub.missingBlobs(packed.blobs.map((blob) => blob.sha256))
    if (!answer.ok) throw new Problem(answer)
    const missing = new Set(answer.missing)
    for (const { sha256 } of packed.blobs) if (!missing.has(sha256)) this.#shown.push(sha256)
    if (missing.size === 0) return
    const pack = ulid()
    const wanted = { name: packName(pack), key: packKey(who.fleet, pack), size: packed.size }
    const { key } = await holdObject(c.env, who.fleet, session, wanted)
    await c.env.BLOBS.put(key, packed.bytes())
    for (const { sha256, size, start, media } of packed.blobs) {
      if (missing.has(sha256)) this.#blobs.push({ sha256, size, place: { key, start }, media })
    }
  }
}

function refused(detail: string): Problem {
  return new Problem(fail('invalid', detail, { pointer: '' }))
}
