// `GET …/export`: a whole world as one tar, in constant memory. What it says in its last member lets whoever has it tell that
// nothing is missing; an archive that cannot be finished breaks off, which no reader takes for a whole one.

import { createHash } from 'node:crypto'
import { createTarPacker } from 'modern-tar'
import { hashes, hex } from '../crypto.ts'
import { fail, type Outcome } from '../protocol/errors.ts'
import type { ExportOf, Lines } from '../session/archive-rpc.ts'
import type { LocatedBlob } from '../session/blob-rpc.ts'
import type { At } from '../session/rpc.ts'
import { type ArchiveEnd, archiveType, members } from '../snapshot/archive.ts'
import { sealManifest } from '../snapshot/manifest.ts'
import type { PageRef } from '../snapshot/page.ts'
import type { Visit } from './door.ts'
import { Problem, reply, replyFailure } from './reply.ts'
import { Spans } from './spans.ts'

/** Pages asked for in one call; as many come as it carries. */
const pagesPerCall = 64

export async function replyArchive(visit: Visit, at: At, journal: boolean): Promise<Response> {
  const { c, session, stub } = visit
  const begun = await stub.exportBegin(at, journal)
  if (!begun.ok) return replyFailure(c, begun)
  const { pages, head, hold, began } = begun
  const writer = new ArchiveWriter(Date.parse(head.updated_at))
  const exporting = new Exporting(visit, writer, { head, hold, began }, pages)
  c.executionCtx.waitUntil(exporting.run().catch((error) => writer.fail(error)))
  return reply(c, writer.readable, {
    version: head.version,
    headers: {
      'content-type': archiveType,
      'content-disposition': `attachment; filename="${session.replaceAll(/[^\w.-]/g, '_')}.tar"`,
      'x-content-type-options': 'nosniff',
    },
  })
}

class Exporting {
  readonly #visit: Visit
  readonly #writer: ArchiveWriter
  readonly #of: ExportOf
  readonly #pages: readonly PageRef[]
  readonly #count: Omit<ArchiveEnd, 'members' | 'sha256'> = { blobs: 0, pages: 0, past: 0, commits: 0 }

  constructor(visit: Visit, writer: ArchiveWriter, of: ExportOf, pages: readonly PageRef[]) {
    this.#visit = visit
    this.#writer = writer
    this.#of = of
    this.#pages = pages
  }

  async run(): Promise<void> {
    const writer = this.#writer
    const { head } = this.#of
    await writer.text(members.head, JSON.stringify(head))
    await writer.text(members.manifest, sealManifest(hashes, { pages: [...this.#pages] }).text)
    await this.#blobs()
    await this.#pagesOf()
    if (head.journal) {
      const { stub } = this.#visit
      this.#count.past = await this.#lines(members.past, (after) => stub.exportPast(this.#of, after))
      this.#count.commits = await this.#lines(members.commits, (after) => stub.exportCommits(this.#of, after))
    }
    gained(await this.#visit.stub.exportEnd(this.#of))
    await writer.end(this.#count)
  }

  async #blobs(): Promise<void> {
    const { c, stub } = this.#visit
    const spans = new Spans(c.env.BLOBS)
    for (let after: SqlStorageValue[] | null = null; ; ) {
      const part: Blobs = gained(await stub.exportBlobs(this.#of, after))
      const placed = part.blobs.map(({ key, start, ...blob }) => ({ ...blob, place: { key, start } }))
      for (const [index, blob] of placed.entries()) {
        // A look ahead as far as one pack may reach, and not over the whole list for each.
        await this.#writer.blob(blob, await spans.read(blob, placed.slice(index, index + 1000)))
        this.#count.blobs++
      }
      after = part.next
      if (after === null) return
    }
  }

  async #pagesOf(): Promise<void> {
    const { stub } = this.#visit
    for (let next = 0; next < this.#pages.length; ) {
      const refs = this.#pages.slice(next, next + pagesPerCall)
      const { pages } = gained(await stub.exportPages(this.#of, refs))
      for (const [index, { page, rows }] of pages.entries()) {
        const name = refs[index]?.name ?? ''
        await this.#writer.text(members.page(name), page)
        if (rows !== null) await this.#writer.text(members.rows(name), rows)
      }
      next += pages.length
      this.#count.pages += pages.length
    }
  }

  async #lines(
    nameOf: (part: number) => string,
    read: (after: SqlStorageValue[] | null) => Promise<Outcome<Lines>>,
  ): Promise<number> {
    let count = 0
    let after: SqlStorageValue[] | null = null
    for (let part = 1; ; part++) {
      const lines: Lines = gained(await read(after))
      if (lines.text !== '') await this.#writer.text(nameOf(part), lines.text)
      count += lines.count
      after = lines.next
      if (after === null) return count
    }
  }
}

type Blobs = { blobs: LocatedBlob[]; next: SqlStorageValue[] | null }

function gained<T>(outcome: Outcome<T>): { ok: true } & T {
  if (!outcome.ok) throw new Problem(outcome)
  return outcome
}

/** Writes members as a reader takes them, and remembers what each was. */
class ArchiveWriter {
  readonly readable: ReadableStream<Uint8Array>
  readonly #packer: ReturnType<typeof createTarPacker>['controller']
  readonly #all = createHash('sha256')
  readonly #mtime: Date
  #members = 0

  constructor(mtime: number) {
    const { readable, controller } = createTarPacker()
    this.readable = readable
    this.#packer = controller
    this.#mtime = new Date(mtime)
  }

  async text(name: string, text: string): Promise<void> {
    const bytes = Buffer.from(text)
    await this.#write(name, bytes.length, bytes)
    this.#note(name, hex(hashes.sha256(bytes)))
  }

  /** A blob, which is verified on its way: no archive is made that nobody could take in. */
  async blob(
    { sha256, size }: { sha256: string; size: number },
    bytes: Uint8Array | ReadableStream<Uint8Array>,
  ): Promise<void> {
    const name = members.blob(sha256)
    const found = await this.#write(name, size, bytes)
    if (found !== sha256) throw new Problem(fail('corrupt', `the blob ${sha256} has other bytes`))
    this.#note(name, sha256)
  }

  async end(count: Omit<ArchiveEnd, 'members' | 'sha256'>): Promise<void> {
    const end: ArchiveEnd = { members: this.#members, ...count, sha256: this.#all.digest('hex') }
    const bytes = Buffer.from(JSON.stringify(end))
    await this.#write(members.end, bytes.length, bytes)
    this.#packer.finalize()
  }

  fail(error: unknown): void {
    this.#packer.error(error)
  }

  async #write(name: string, size: number, bytes: Uint8Array | ReadableStream<Uint8Array>): Promise<string> {
    const hash = createHash('sha256')
    const writer = this.#packer.add({ name, size, mode: 0o644, mtime: this.#mtime, type: 'file' }).getWriter()
    if (bytes instanceof Uint8Array) {
      hash.update(bytes)
      if (bytes.byteLength > 0) await writer.write(bytes)
    } else {
      for await (const piece of bytes) {
        hash.update(piece)
        await writer.write(piece)
      }
    }
    await writer.close()
    return hash.digest('hex')
  }

  #note(name: string, digest: string): void {
    this.#all.update(`${name} ${digest}\n`)
    this.#members++
  }
}
