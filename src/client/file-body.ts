// A file as it comes back: what its headers say of it, and its bytes in the form one wants.

import type { Bytes } from './bytes.ts'
import { NetworkError } from './errors.ts'
import { numberIn } from './headers.ts'

/** A file's attributes, from the headers of its answer. */
export class FileHead {
  readonly path: string
  /** SHA-256 of the bytes, hex. */
  readonly blob: string
  readonly type: string
  /** Bytes of the whole file; undefined when something in between compressed it and took the length away. */
  readonly size: number | undefined
  readonly mode: string
  /** RFC 3339, or null when none was given. */
  readonly mtime: string | null
  /** The version that wrote it. */
  readonly since: number
  /** The version that the answer speaks of. */
  readonly version: number
  /** Strong; names the entry. */
  readonly etag: string

  constructor(path: string, headers: Headers) {
    this.path = path
    this.blob = headers.get('lares-blob') ?? ''
    this.type = headers.get('content-type') ?? 'application/octet-stream'
    this.size = numberIn(headers, 'content-length')
    this.mode = headers.get('lares-mode') ?? '100644'
    this.mtime = headers.get('lares-mtime')
    this.since = numberIn(headers, 'lares-since') ?? 0
    this.version = numberIn(headers, 'lares-version') ?? 0
    this.etag = headers.get('etag') ?? ''
  }
}

/** A file with its content, which can be read once. */
export class FileBody extends FileHead {
  readonly #response: Response

  constructor(path: string, response: Response) {
    super(path, response.headers)
    this.#response = response
  }

  /** @throws {NetworkError} when the content is cut off: get the file again */
  async bytes(): Promise<Bytes> {
    try {
      return new Uint8Array(await this.#response.arrayBuffer())
    } catch (cause) {
      throw new NetworkError(`reading ${this.path}: the content was cut off`, { cause })
    }
  }

  /** The content as UTF-8 text. */
  async text(): Promise<string> {
    return new TextDecoder().decode(await this.bytes())
  }

  /** The content as it arrives. */
  stream(): ReadableStream<Uint8Array> {
    return this.#response.body ?? new Blob([]).stream()
  }

  /** Leaves the content unread and frees the connection. */
  async cancel(): Promise<void> {
    await this.#response.body?.cancel()
  }
}
