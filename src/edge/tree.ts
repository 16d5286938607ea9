// `GET …/files?format=tar`: a whole tree as one stream, read page by page at one version. Files that lie side by side in a
// pack are read from R2 together.

import { createTarPacker, type TarHeader } from 'modern-tar'
import { fail } from '../protocol/errors.ts'
import type { Place, TreeFile, TreeQuery } from '../session/blob-rpc.ts'
import type { Visit } from './door.ts'
import { Problem, reply, replyFailure } from './reply.ts'

/** A pack up to this size is read whole when several files of a page lie in it. */
const spanBytes = 16 * 1024 * 1024

export async function replyTree(visit: Visit, query: Omit<TreeQuery, 'cursor'>): Promise<Response> {
  const { c, stub } = visit
  // The first page decides the version, and shows whether there is anything to answer at all.
  const first = await stub.listTree({ ...query, cursor: null })
  if (!first.ok) return replyFailure(c, first)
  const { readable, controller } = createTarPacker()
  const at = { version: first.version }
  const pour = async () => {
    const spans = new Spans(c.env.BLOBS)
    let page = first
    for (;;) {
      for (const [index, file] of page.files.entries())
        await pourFile(controller, spans, file, page.files.slice(index))
      if (page.next === null) break
      const more = await stub.listTree({ ...query, at, cursor: page.next })
      if (!more.ok) throw new Problem(more)
      page = more
    }
    controller.finalize()
  }
  // Failing half-way breaks the stream off, which no reader takes for a whole archive.
  c.executionCtx.waitUntil(pour().catch((error) => controller.error(error)))
  return reply(c, readable, {
    version: first.version,
    headers: {
      'content-type': 'application/x-tar',
      'content-disposition': 'attachment; filename="files.tar"',
      'x-content-type-options': 'nosniff',
    },
  })
}

async function pourFile(
  controller: ReturnType<typeof createTarPacker>['controller'],
  spans: Spans,
  file: TreeFile,
  following: readonly TreeFile[],
): Promise<void> {
  const bytes = await spans.read(file, following)
  if (file.mode === '120000') {
    const target = await textOf(bytes)
    await controller.add({ ...headerOf(file), type: 'symlink', size: 0, linkname: target }).close()
    return
  }
  const entry = controller.add(headerOf(file))
  if (bytes instanceof ReadableStream) return bytes.pipeTo(entry)
  const writer = entry.getWriter()
  if (bytes.byteLength > 0) await writer.write(bytes)
  await writer.close()
}

function headerOf({ path, size, mode, mtime }: TreeFile): TarHeader {
  const seconds = mtime === null ? 0 : Date.parse(mtime) / 1000
  const pax: Record<string, string> = {}
  // Outside ASCII the old header leaves the encoding to guesswork.
  if (!/^[\x20-\x7e]*$/.test(path)) pax.path = path
  if (!Number.isInteger(seconds) || seconds < 0) pax.mtime = String(seconds)
  return {
    name: path,
    size,
    mode: mode === '100755' ? 0o755 : mode === '120000' ? 0o777 : 0o644,
    mtime: new Date(Math.max(0, Math.floor(seconds)) * 1000),
    type: 'file',
    ...(Object.keys(pax).length === 0 ? {} : { pax }),
  }
}

async function textOf(bytes: Uint8Array | ReadableStream<Uint8Array>): Promise<string> {
  return new Response(bytes).text()
}

/** Reads blobs, and keeps the last stretch of a pack that it read for the files that follow. */
class Spans {
  readonly #bucket: R2Bucket
  #span: { key: string; start: number; bytes: Uint8Array } | null = null

  constructor(bucket: R2Bucket) {
    this.#bucket = bucket
  }

  async read(
    { place, size }: TreeFile,
    following: readonly TreeFile[],
  ): Promise<Uint8Array | ReadableStream<Uint8Array>> {
    if (place === null) throw new Problem(fail('corrupt', 'the bytes of a file are missing'))
    if ('bytes' in place) return place.bytes
    if (size === 0) return new Uint8Array()
    const kept = this.#within(place, size)
    if (kept !== null) return kept
    const { start, end, count } = stretch(place.key, following)
    if (count > 1 && end - start <= spanBytes) {
      const object = await this.#get(place.key, start, end - start)
      this.#span = { key: place.key, start, bytes: new Uint8Array(await object.arrayBuffer()) }
      return this.#within(place, size) ?? new Uint8Array()
    }
    return (await this.#get(place.key, place.start, size)).body
  }

  #within({ key, start }: { key: string; start: number }, size: number): Uint8Array | null {
    const span = this.#span
    if (span === null || span.key !== key || start < span.start) return null
    const from = start - span.start
    return from + size <= span.bytes.byteLength ? span.bytes.subarray(from, from + size) : null
  }

  async #get(key: string, offset: number, length: number): Promise<R2ObjectBody> {
    const object = await this.#bucket.get(key, { range: { offset, length } })
    if (object === null) throw new Problem(fail('corrupt', 'the bytes of a file are missing'))
    return object
  }
}

/** From where to where the files of a page lie in one object. */
function stretch(key: string, files: readonly TreeFile[]): { start: number; end: number; count: number } {
  let start = Number.POSITIVE_INFINITY
  let end = 0
  let count = 0
  for (const { place, size } of files) {
    if (!isIn(place, key)) continue
    start = Math.min(start, place.start)
    end = Math.max(end, place.start + size)
    count++
  }
  return { start, end, count }
}

function isIn(place: Place | null, key: string): place is { key: string; start: number } {
  return place !== null && 'key' in place && place.key === key
}
