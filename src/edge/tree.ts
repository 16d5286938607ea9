// `GET …/files?format=tar`: a whole tree as one stream, read page by page at one version. Files that lie side by side in a
// pack are read from R2 together.

import { createTarPacker, type TarHeader } from 'modern-tar'
import type { TreeFile, TreeQuery } from '../session/blob-rpc.ts'
import type { Visit } from './door.ts'
import { isFixed, readHeaders } from './lists.ts'
import { Problem, reply, replyFailure } from './reply.ts'
import { Spans } from './spans.ts'

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
      ...readHeaders(isFixed(c)),
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
