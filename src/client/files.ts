// Files: paths and bytes. Content goes through the edge in one request, and is held in memory meanwhile.

import { contentDigest, type FileSource, sha256, typeOf, upTo } from './bytes.ts'
import { commit } from './commits.ts'
import { FileBody, FileHead } from './file-body.ts'
import type { List, PageOptions } from './list.ts'
import { encodePath } from './paths.ts'
import { type Pushed, type PushOptions, pushTree, type TreeEntry } from './push.ts'
import { type ReadOptions, readJson, type Scope, type WriteOptions } from './scope.ts'
import {
  type FileAttributes,
  type FileTarget,
  type KeyedOptions,
  type Transaction,
  time,
} from './transaction.ts'
import type { Committed, FileInfo, FileMode, Prefix } from './types.ts'
import { type UploadedBlob, type UploadOptions, uploadContent } from './uploads.ts'

/** Bytes that go in one request. */
const oneRequest = 16 * 1024 * 1024

export interface FileListOptions extends PageOptions {
  /** Only paths that begin so, as text. */
  prefix?: string
}

export interface FilePutOptions extends FileAttributes, WriteOptions, UploadOptions {}

/** What a put file is, and the version that holds it. */
export type FileWritten = Omit<FileInfo, 'since' | 'meta'> & { version: number }

export interface FileWriteOptions extends WriteOptions, KeyedOptions {
  expect?: number | undefined
}

/** Files as they are read: at the head, or at a point of history. */
export class FilesReader {
  protected readonly scope: Scope

  constructor(scope: Scope) {
    this.scope = scope
  }

  /**
   * A file: its attributes at once, its content when asked for. Read the content or `cancel()` it.
   *
   * @throws {LaresError} `not_found`; `gone` when it was erased
   * @example const text = await (await session.files.get('notes/todo.md')).text()
   */
  get(path: string, options: ReadOptions = {}): Promise<FileBody> {
    const read = (response: Response) => new FileBody(path, response)
    return this.scope.read(`/files/${encodePath(path)}`, { ...options, open: true, read })
  }

  /** A file's attributes alone. */
  head(path: string, options: ReadOptions = {}): Promise<FileHead> {
    const read = (response: Response) => new FileHead(path, response.headers)
    return this.scope.read(`/files/${encodePath(path)}`, { ...options, method: 'HEAD', read })
  }

  /**
   * Files in the order of their paths. With a delimiter, what lies beneath it appears once, as its prefix.
   *
   * @example for await (const item of session.files.list({ delimiter: '/' })) show('prefix' in item ? item.prefix : item.path)
   */
  list(options?: FileListOptions & { delimiter?: undefined }): List<FileInfo>
  list(options: FileListOptions & { delimiter?: '/' | undefined }): List<FileInfo | Prefix>
  list({
    prefix,
    delimiter,
    ...page
  }: FileListOptions & { delimiter?: '/' | undefined } = {}): List<FileInfo | Prefix> {
    return this.scope.list('/files', { prefix, delimiter }, page)
  }
}

/** The files of a session: `session.files`. Each write is one commit. */
export class Files extends FilesReader {
  /**
   * Writes a file. Its SHA-256 travels along and is checked.
   *
   * @throws {LaresError} `fenced`, `invalid` (the path), `too_large`, `digest_mismatch`
   * @example await session.files.put('bin/run.sh', '#!/bin/sh\necho hi\n', { mode: '100755' })
   */
  async put(path: string, content: FileSource, options: FilePutOptions = {}): Promise<FileWritten> {
    const { whole, rest } = await upTo(content, oneRequest)
    if (whole === null) return this.#putLarge(path, rest, options)
    const headers = {
      'content-type': options.type ?? typeOf(content),
      'content-digest': contentDigest(await sha256(whole)),
      'lares-mode': options.mode,
      'lares-mtime': time(options.mtime),
    }
    const call = { method: 'PUT' as const, headers, body: whole, read: readJson<FileWritten> }
    const written = await this.scope.write(`/files/${encodePath(path)}`, call, options)
    options.progress?.(whole.byteLength, whole.byteLength)
    return written
  }

  /**
   * Brings content of any size as a blob, in parts, without naming it: for `tx.files.put({ path, blob })` in a later commit.
   *
   * @example const { blob } = await session.files.upload(file, { progress: (sent, total) => show(sent / total) })
   */
  upload(content: FileSource, options: UploadOptions = {}): Promise<UploadedBlob> {
    return uploadContent(this.scope, content, options)
  }

  /**
   * Writes many files: asks which bytes are missing, sends those in one archive, and names all of them in one commit (one for
   * each thousand). The same tree again sends nothing.
   *
   * @example await session.files.pushTree([{ path: 'src/a.ts', content: 'export {}' }], { message: 'checkpoint' })
   */
  pushTree(
    files: Iterable<TreeEntry> | AsyncIterable<TreeEntry>,
    options: PushOptions = {},
  ): Promise<Pushed> {
    return pushTree(this.scope, files, options)
  }

  async #putLarge(path: string, content: FileSource, options: FilePutOptions): Promise<FileWritten> {
    const { type, mode, mtime, progress, parallel, resume, begun, ...write } = options
    const uploading = { progress, parallel, resume, begun, signal: write.signal }
    const { blob, size } = await uploadContent(this.scope, content, uploading)
    const op = { op: 'file.put' as const, path, blob, type, mode, mtime: time(mtime) }
    const { version } = await commit(this.scope, { ops: [op] }, write)
    // What the edge made of it where nothing was said: its type, its mode.
    const head = await new FilesReader(this.scope.with({ at: version })).head(path, { signal: write.signal })
    const known = head.mode as FileMode // the edge says no other
    return { path, blob, size, type: head.type, mode: known, mtime: head.mtime, version }
  }

  copy(from: FileTarget, to: string, options: FileWriteOptions = {}): Promise<Committed> {
    return this.#one(options, (tx, on) => tx.files.copy(from, to, on))
  }

  move(from: FileTarget, to: string, options: FileWriteOptions = {}): Promise<Committed> {
    return this.#one(options, (tx, on) => tx.files.move(from, to, on))
  }

  /** Deletes one path, or all below a prefix; the result's `count` tells how many. */
  delete(path: FileTarget, options: FileWriteOptions = {}): Promise<Committed> {
    return this.#one(options, (tx, on) => tx.files.delete(path, on))
  }

  #one(
    { if: condition, from, ...options }: FileWriteOptions,
    compose: (tx: Transaction, on: KeyedOptions) => void,
  ): Promise<Committed> {
    return commit(this.scope, (tx) => compose(tx, { if: condition, from }), options)
  }
}
