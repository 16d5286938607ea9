// Handing a world over to the object that takes it in: rows in parts that one call carries, and large values read back from where
// they were put.

import { type Failure, fail } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import type {
  Part,
  StagedCommit,
  StagedEntry,
  StagedEvent,
  StagedMore,
  StagedPast,
} from '../session/archive-rpc.ts'
import type { LocatedBlob, NewBlob } from '../session/blob-rpc.ts'
import type { SessionStub } from '../session/rpc.ts'
import { Problem } from './reply.ts'

/** Characters of one call's rows: with everything in them twice as wide, still far from what a call carries. */
const callChars = 1_500_000
const blobsPerCall = 2000

export class Staging {
  readonly #stub: SessionStub
  readonly #bucket: R2Bucket
  readonly stage: string
  #blobs: NewBlob[] = []
  #entries: StagedEntry[] = []
  #events: StagedEvent[] = []
  #past: StagedPast[] = []
  #commits: StagedCommit[] = []
  #more: StagedMore[] = []
  #chars = 0

  constructor(stub: SessionStub, bucket: R2Bucket, stage: string) {
    this.#stub = stub
    this.#bucket = bucket
    this.stage = stage
  }

  async blob(blob: NewBlob): Promise<void> {
    this.#blobs.push(blob)
    if (this.#blobs.length >= blobsPerCall) await this.flush()
  }

  async entry(entry: StagedEntry): Promise<void> {
    this.#entries.push(entry)
    await this.#grew(entry.text, entry.inputs)
  }

  async event(event: StagedEvent): Promise<void> {
    this.#events.push(event)
    await this.#grew(event.text, event.inputs)
  }

  async past(past: StagedPast): Promise<void> {
    this.#past.push(past)
    await this.#grew(past.text, past.inputs)
  }

  async commit(commit: StagedCommit): Promise<void> {
    this.#commits.push(commit)
    await this.#grew(commit.changes, commit.cause)
  }

  async more(more: StagedMore): Promise<void> {
    this.#more.push(more)
    await this.#grew(more.changes, null)
  }

  async #grew(...texts: (string | null)[]): Promise<void> {
    // Names, digests and what surrounds them.
    this.#chars += 500
    for (const text of texts) this.#chars += text?.length ?? 0
    if (this.#chars > callChars) await this.flush()
  }

  /** Hands over what has gathered. */
  async flush(): Promise<void> {
    this.#chars = 0
    if (this.#blobs.length > 0) await this.#send({ blobs: this.#blobs.splice(0) })
    if (this.#entries.length > 0) await this.#send({ entries: this.#entries.splice(0) })
    if (this.#events.length > 0) await this.#send({ events: this.#events.splice(0) })
    if (this.#past.length > 0) await this.#send({ past: this.#past.splice(0) })
    if (this.#commits.length > 0 || this.#more.length > 0)
      await this.#send({ commits: this.#commits.splice(0), more: this.#more.splice(0) })
  }

  async #send(part: Part): Promise<void> {
    const outcome = await this.#stub.stagePart(this.stage, part)
    if (!outcome.ok) throw new Problem(outcome)
  }

  /** Where large values lie, by their SHA-256. */
  async places(digests: readonly string[]): Promise<Map<string, LocatedBlob>> {
    if (digests.length === 0) return new Map()
    const answer = await this.#stub.stagePlaces(this.stage, [...new Set(digests)])
    if (!answer.ok) throw new Problem(answer)
    return new Map(answer.blobs.map((blob) => [blob.sha256, blob]))
  }

  /** The text of a large value, or why there is none. */
  async large(place: LocatedBlob | undefined, sha256: string): Promise<string | Failure> {
    if (place === undefined) return fail('invalid', `blobs/${sha256} is missing`)
    if (place.size > limits.valueBytes) return fail('invalid', `blobs/${sha256} is too large for a value`)
    const { key, start, size } = place
    const object = await this.#bucket.get(key, { range: { offset: start, length: size } })
    if (object === null) return fail('corrupt', `blobs/${sha256} is not where it was put`)
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await object.arrayBuffer())
    } catch {
      return fail('invalid', `blobs/${sha256} is no text`)
    }
  }
}
