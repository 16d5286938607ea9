// The part of a Session's RPC surface that is about bytes: which blobs it holds and where they lie, and uploads in flight.

import type { Outcome } from '../protocol/errors.ts'
import type { At, Caller } from './rpc.ts'

/** Where a blob's bytes are: with the session itself, or in R2. */
export type Place = { bytes: Uint8Array } | { key: string; start: number }

/** What bytes say of themselves. */
export interface Media {
  type?: string
  /** A JSON object: width, height, duration, pages. */
  meta?: Record<string, unknown>
}

/** A blob that has just come through the edge; in R2 already, or small enough to ride along. */
export interface NewBlob {
  sha256: string
  size: number
  place: Place
  media?: Media
  /** The upload that it came by, which is done with this. */
  upload?: string
}

export interface FoundBlob {
  size: number
  place: Place
}

/** A blob of this session in R2. */
export interface LocatedBlob {
  sha256: string
  size: number
  key: string
  start: number
}

export interface UploadPart {
  part: number
  size: number
  etag: string
}

export interface UploadShown {
  upload: string
  key: string
  /** R2's own id of the multipart upload; null for bytes streamed in one request. */
  multipart: string | null
  part_size: number
  /** As declared at its beginning. */
  size: number | null
  state: 'open' | 'sealed' | 'done'
  /** Once it is sealed. */
  blob: { sha256: string; size: number } | null
}

/** A file of a tree, with its bytes or where they lie. */
export interface TreeFile {
  path: string
  blob: string
  size: number
  type: string
  mode: string
  mtime: string | null
  /** Null when they are lost. */
  place: Place | null
}

export interface TreeQuery {
  at: At
  prefix: string
  /** Only paths below one of these; null means all. */
  within: readonly string[] | null
  /** The last path of the page before. */
  cursor: string | null
}

export interface BlobRpc {
  /** Files with the places of their bytes, page by page in the order of their paths. */
  listTree(query: TreeQuery): Promise<Outcome<{ version: number; files: TreeFile[]; next: string | null }>>
  /** @param shown SHA-256s of bytes that the caller sent and the session had already */
  holdBlobs(caller: Caller, blobs: NewBlob[], shown?: string[]): Promise<Outcome<{ version: number }>>
  findBlob(sha256: string): Promise<Outcome<{ version: number } & FoundBlob>>
  /** Which of these the session does not hold. What it holds stays a day longer, so that it can be named now. */
  missingBlobs(
    digests: string[],
    /** Who asks, when it is not who has sent the bytes: what they may not name is missing for them. */
    caller?: Caller,
  ): Promise<Outcome<{ version: number; missing: string[] }>>
  /** Where blobs lie in R2, after every inline one has been moved there: all of them, or just these. */
  locateBlobs(digests: string[] | null): Promise<Outcome<{ version: number; blobs: LocatedBlob[] }>>
  /** Whether the session names a blob, now or in its past. */
  refersTo(sha256: string): Promise<boolean>
  /** Moves every inline blob to R2 now. */
  flushBlobs(): Promise<Outcome<{ packed: number }>>
  /** For the sweep: which of these R2 keys the session does not need; `act` also forgets them. */
  unneededKeys(keys: string[], before: number, act: boolean): Promise<Outcome<{ keys: readonly string[] }>>

  beginUpload(
    caller: Caller,
    upload: Pick<UploadShown, 'upload' | 'key' | 'multipart' | 'part_size' | 'size'>,
  ): Promise<Outcome<{ version: number }>>
  readUpload(upload: string): Promise<Outcome<{ version: number; upload: UploadShown; parts: UploadPart[] }>>
  addPart(caller: Caller, upload: string, part: UploadPart): Promise<Outcome<{ version: number }>>
  /** From here on the upload's object belongs to a blob, not to the upload alone. */
  sealUpload(caller: Caller, upload: string, sha256: string, size: number): Promise<Outcome<object>>
  /** Forgets an upload; what is in R2 under its key is removed behind the answer. */
  abortUpload(caller: Caller, upload: string): Promise<Outcome<{ version: number }>>
  /** Removes uploads that had no part since `before`. Run by the session's own alarm. */
  expireUploads(before: number): Promise<Outcome<object>>
}
