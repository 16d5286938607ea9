// A whole tree in few requests: which bytes are missing, those in one archive, then the commit that names all of it.

import { type Bytes, collect, type FileSource, hex, sha256 } from './bytes.ts'
import { commit } from './commits.ts'
import type { Scope, WriteOptions } from './scope.ts'
import { type FileAttributes, time } from './transaction.ts'
import { uploadContent } from './uploads.ts'

export interface TreeEntry extends FileAttributes {
  path: string
  content: FileSource
}

export interface PushOptions extends WriteOptions {
  message?: string | undefined
  /** Called as bytes are sent: how many so far, and in all. */
  progress?: ((sent: number, total: number) => void) | undefined
}

export interface Pushed {
  /** The version that holds the whole tree. */
  version: number
  /** Blobs that had to be sent, and their bytes. */
  uploaded: number
  bytes: number
}

interface Ready extends FileAttributes {
  path: string
  blob: string
  bytes: Bytes
}

/** A larger file goes by itself, in parts. */
const largest = 16 * 1024 * 1024
/** Bytes of one archive: it is held in memory, to be sent again if it must. */
const archiveBytes = 48 * 1024 * 1024
/** Operations of one commit, digests of one question. */
const perCall = 1000

export async function pushTree(
  scope: Scope,
  files: Iterable<TreeEntry> | AsyncIterable<TreeEntry>,
  { message, progress, ...options }: PushOptions = {},
): Promise<Pushed> {
  const tree: Ready[] = []
  for await (const { content, ...rest } of files) {
    const bytes = await collect(content)
    tree.push({ ...rest, blob: hex(await sha256(bytes)), bytes })
  }
  const wanted = await missing(scope, [...new Set(tree.map((file) => file.blob))], options)
  const sending = [...new Map(tree.map((file) => [file.blob, file.bytes]))].filter(([blob]) =>
    wanted.has(blob),
  )
  const total = sending.reduce((sum, [, bytes]) => sum + bytes.byteLength, 0)
  let sent = 0
  for (const batch of batches(sending)) {
    await send(scope, batch, options)
    for (const [, bytes] of batch) sent += bytes.byteLength
    progress?.(sent, total)
  }
  let version = 0
  for (let i = 0; i < tree.length; i += perCall) {
    const ops = tree.slice(i, i + perCall).map(({ bytes: _, mtime, ...file }) => ({
      op: 'file.put' as const,
      ...file,
      ...(mtime === undefined ? {} : { mtime: time(mtime) }),
    }))
    const done = await commit(scope, { ops }, { message, signal: options.signal })
    version = done.version
  }
  return { version, uploaded: sending.length, bytes: total }
}

async function missing(
  scope: Scope,
  digests: readonly string[],
  options: WriteOptions,
): Promise<Set<string>> {
  const all = new Set<string>()
  for (let i = 0; i < digests.length; i += perCall) {
    const body = { digests: digests.slice(i, i + perCall) }
    const answer = await scope.send<{ missing: string[] }>('POST', '/blobs/missing', body, {
      signal: options.signal,
    })
    for (const digest of answer.missing) all.add(digest)
  }
  return all
}

type Sending = [blob: string, bytes: Bytes]

function* batches(sending: readonly Sending[]): Generator<Sending[]> {
  let batch: Sending[] = []
  let size = 0
  for (const one of sending) {
    const [, bytes] = one
    if (batch.length > 0 && size + bytes.byteLength > archiveBytes) {
      yield batch
      batch = []
      size = 0
    }
    batch.push(one)
    size += bytes.byteLength
  }
  if (batch.length > 0) yield batch
}

async function send(scope: Scope, batch: readonly Sending[], { signal }: WriteOptions): Promise<void> {
  const small = batch.filter(([, bytes]) => bytes.byteLength <= largest)
  for (const [, bytes] of batch) {
    if (bytes.byteLength > largest) await uploadContent(scope, bytes, { signal })
  }
  if (small.length === 0) return
  // Only who pushes a tree loads it.
  const { packTar } = await import('modern-tar')
  const body = await packTar(
    small.map(([name, bytes]) => ({ header: { name, size: bytes.byteLength }, body: bytes })),
  )
  const headers = { 'content-type': 'application/x-tar' }
  const retry = { try_ms: 600_000, total_ms: 1_800_000 }
  await scope.write('/blobs', { method: 'POST', headers, body, retry, read: () => undefined }, { signal })
}
