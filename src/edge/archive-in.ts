// `POST /v1/import`: an archive becomes a session, in constant memory and in one pass. Everything is verified on its way to an
// object in which there is no session until the last step, so whatever is wrong leaves nothing.

import { ulid } from 'ulid'
import { genesis } from '../protocol/digests.ts'
import type { SessionShown } from '../protocol/resources.ts'
import type { Founding } from '../session/archive-rpc.ts'
import type { Caller } from '../session/rpc.ts'
import {
  type ArchiveHead,
  archiveEnd,
  archiveHead,
  type EntryLine,
  type EventLine,
  entryLine,
  eventLine,
  members,
} from '../snapshot/archive.ts'
import type { Manifest } from '../snapshot/manifest.ts'
import type { PageRef } from '../snapshot/page.ts'
import { ArchiveBlobs } from './archive-blobs.ts'
import { takeCommits, takePast } from './archive-journal.ts'
import { ArchiveReader, linesOf, refused } from './archive-reader.ts'
import { callerOf } from './caller.ts'
import type { Visit } from './door.ts'
import { type Beside, checkManifest, Intake } from './intake.ts'
import { Problem } from './reply.ts'
import { Staging } from './staging.ts'

export interface Imported {
  version: number
  session: SessionShown
}

/**
 * Makes the session of the visit from an archive.
 *
 * @throws Problem naming the member in which something is wrong
 */
export async function importArchive(visit: Visit, archive: ReadableStream<Uint8Array>): Promise<Imported> {
  const { c, stub } = visit
  const reader = new ArchiveReader(archive)
  const stage = ulid()
  try {
    const text = await reader.text(members.head)
    const head = headOf(text)
    // A retry is known by what stands at the beginning: that it is the same to the end, nobody has to read again.
    const caller = callerOf(c, text)
    const begun = await stub.stageBegin(caller, stage)
    if (!begun.ok) throw new Problem(begun)
    if (begun.done !== null) {
      await reader.cancel()
      return begun.done
    }
    return await new Import(visit, reader, head, new Staging(stub, c.env.BLOBS, stage)).run(caller)
  } catch (error) {
    await Promise.allSettled([stub.stageDrop(stage), reader.cancel()])
    throw reader.broken ?? error
  }
}

function headOf(text: string): ArchiveHead {
  const head = archiveHead.safeParse(jsonIn(members.head, text))
  if (!head.success) {
    const [issue] = head.error.issues
    throw refused(members.head, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not as it should be'}`)
  }
  const { version, floor, pruned, journal, commit, digest, entries, events } = head.data
  const sound =
    floor <= version &&
    pruned <= version &&
    (journal || floor === version) &&
    (version === 0
      ? commit === null && digest === genesis && entries === 0 && events === 0
      : commit !== null && digest !== genesis)
  if (!sound) throw refused(members.head, 'no world is like this')
  return head.data
}

function jsonIn(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw refused(name, 'not JSON')
  }
}

class Import {
  readonly #visit: Visit
  readonly #reader: ArchiveReader
  readonly #head: ArchiveHead
  readonly #staging: Staging

  constructor(visit: Visit, reader: ArchiveReader, head: ArchiveHead, staging: Staging) {
    this.#visit = visit
    this.#reader = reader
    this.#head = head
    this.#staging = staging
  }

  async run(caller: Caller): Promise<Imported> {
    const { journal, version } = this.#head
    const manifest = await this.#manifest()
    const blobs = await this.#blobs()
    await this.#pages(manifest)
    const past = journal ? await takePast(this.#reader, this.#staging, this.#head) : 0
    const commits = journal && version > 0 ? await takeCommits(this.#reader, this.#staging, this.#head) : 0
    await this.#end({ blobs, pages: manifest.pages.length, past, commits })
    await this.#staging.flush()
    return this.#found(caller)
  }

  async #manifest(): Promise<Manifest> {
    const name = members.manifest
    const manifest = checkManifest(name, await this.#reader.text(name), this.#head.root)
    const countOf = (pages: PageRef[]) => pages.reduce((sum, { count }) => sum + count, 0)
    const events = countOf(manifest.pages.filter(({ kind }) => kind === 'log'))
    if (events !== this.#head.events || countOf(manifest.pages) - events !== this.#head.entries)
      throw refused(members.head, 'it tells another number of entries or events than the manifest')
    return manifest
  }

  async #blobs(): Promise<number> {
    const blobs = new ArchiveBlobs(this.#visit, this.#staging)
    for (;;) {
      const sha256 = /^blobs\/([0-9a-f]{64})$/.exec((await this.#reader.peek()) ?? '')?.[1]
      if (sha256 === undefined) break
      await blobs.take(this.#reader, sha256)
    }
    // What names them comes next.
    await blobs.flush()
    await this.#staging.flush()
    return blobs.count
  }

  async #pages(manifest: Manifest): Promise<void> {
    const intake = new Intake(this.#staging, manifest)
    let at = 1
    for (const [index, page] of manifest.pages.entries()) {
      const items = intake.read(index, await this.#reader.text(members.page(page.name)))
      if (items.some(({ places }) => places !== undefined))
        throw refused(members.page(page.name), 'it tells where bytes lie elsewhere')
      const beside = await this.#beside(page, at)
      if (page.kind === 'log') at = beside.event(items.length - 1).version
      await intake.take(index, items, beside)
    }
  }

  /** The lines beside a page; where there is no journal, every entry is as old as the world here. */
  async #beside(page: PageRef, notBefore: number): Promise<Beside> {
    const { journal, version, floor } = this.#head
    const none = () => {
      throw new Error('a page is of events or of entries')
    }
    if (page.kind !== 'log' && !journal) return { since: () => version, event: none }
    const name = members.rows(page.name)
    const text = await this.#reader.text(name)
    const count = (lines: readonly unknown[]) => {
      if (lines.length !== page.count) throw refused(name, `${lines.length} lines for ${page.count} items`)
    }
    if (page.kind === 'log') {
      const lines: EventLine[] = [...linesOf(name, text, (value) => eventLine.parse(value))]
      count(lines)
      let last = notBefore
      for (const line of lines) {
        if (line.version < last || line.version > version) throw refused(name, 'an event is not of its time')
        last = line.version
      }
      return { since: none, event: (index) => lines[index] ?? none() }
    }
    const lines: EntryLine[] = [...linesOf(name, text, (value) => entryLine.parse(value))]
    count(lines)
    for (const { since } of lines)
      if (since < floor || since > version) throw refused(name, 'an entry is not of its time')
    return { since: (index) => lines[index]?.since ?? none(), event: none }
  }

  async #end(counts: { blobs: number; pages: number; past: number; commits: number }): Promise<void> {
    const name = members.end
    const found = { ...this.#reader.sofar(), ...counts }
    const end = archiveEnd.safeParse(jsonIn(name, await this.#reader.text(name)))
    if (!end.success) throw refused(name, 'not as it should be')
    if (end.data.sha256 !== found.sha256)
      throw refused(name, 'something before it is not what it was', 'digest_mismatch')
    for (const [what, count] of Object.entries(found)) {
      if (Reflect.get(end.data, what) !== count) throw refused(name, `it tells another number of ${what}`)
    }
    await this.#reader.end()
  }

  async #found(caller: Caller): Promise<Imported> {
    const { stub } = this.#visit
    const { stage } = this.#staging
    const founding = this.#founding()
    if (this.#head.journal) {
      for (let after: number | null = -1; after !== null; ) {
        const step = await stub.stageCheck(stage, founding, after)
        if (!step.ok) throw new Problem({ ...step, detail: `journal: ${step.detail}` })
        after = step.next
      }
    }
    const ended = await stub.stageEnd(caller, stage, founding)
    if (!ended.ok) throw new Problem(ended)
    return { version: ended.version, session: ended.session }
  }

  #founding(): Founding {
    const { who, session } = this.#visit
    const { title, labels, version, digest, floor, pruned, events, entries, commit, journal } = this.#head
    return {
      fleet: who.fleet,
      session,
      title,
      labels,
      created_at: Date.parse(this.#head.created_at),
      updated_at: Date.parse(this.#head.updated_at),
      expires_at: null,
      // Where it came from is another fleet's, or was another session of this one: this is a world of its own.
      origin: null,
      ancestry: [],
      family: null,
      version,
      digest,
      floor,
      pruned,
      events,
      entries,
      commit: journal || commit === null ? null : { ...commit, at: Date.parse(commit.at) },
      restored: false,
      epoch: 0,
      snapshots: [],
      children: [],
    }
  }
}
