// Content too large for one request: in parts, several at a time, each checked against its SHA-256 on arrival, each tried
// again by itself, and to be resumed after a crash by the upload's id.

import { type Bytes, contentDigest, type FileSource, sha256 } from './bytes.ts'
import { readJson, type Scope } from './scope.ts'

export interface UploadOptions {
  /** Called as parts arrive: bytes so far, and in all if that is known. */
  progress?: ((sent: number, total: number | null) => void) | undefined
  /** Parts under way at once; 4 unless given. Each is held in memory. */
  parallel?: number | undefined
  /** Goes on with this upload: parts that have arrived are not sent again. The content must be the same. */
  resume?: string | undefined
  /** Called with the upload's id once it has begun: keep it, and it can be resumed. */
  begun?: ((upload: string) => void) | undefined
  signal?: AbortSignal | undefined
}

export interface UploadedBlob {
  /** SHA-256, hex. */
  blob: string
  size: number
}

interface UploadState {
  upload: string
  part_size: number
  parts?: { part: number; size: number }[]
}

/** A part may be slow to send, and a large whole takes time to be read back. */
const patient = { try_ms: 600_000, total_ms: 3_600_000 }

export async function uploadContent(
  scope: Scope,
  content: FileSource,
  options: UploadOptions = {},
): Promise<UploadedBlob> {
  const { progress, parallel = 4, signal } = options
  const parts = partsOf(content)
  const state = await begin(scope, parts.size, options)
  const arrived = new Map(state.parts?.map(({ part, size }) => [part, size]))
  const under = new Set<Promise<void>>()
  let sent = 0
  let count = 0
  const note = (size: number) => {
    sent += size
    progress?.(sent, parts.size)
  }
  const failed = new AbortController()
  for (
    let bytes = await parts.next(state.part_size);
    bytes !== null;
    bytes = await parts.next(state.part_size)
  ) {
    const part = ++count
    if (arrived.get(part) === bytes.byteLength) {
      note(bytes.byteLength)
      continue
    }
    const one = sendPart(scope, state.upload, part, bytes, signal)
      .then(() => note(bytes.byteLength))
      .catch((error: unknown) => failed.abort(error))
      .finally(() => under.delete(one))
    under.add(one)
    if (under.size >= parallel) await Promise.race(under)
    failed.signal.throwIfAborted()
  }
  await Promise.all(under)
  failed.signal.throwIfAborted()
  const numbers = Array.from({ length: count }, (_, i) => i + 1)
  return scope.write(
    `/uploads/${state.upload}/complete`,
    {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ parts: numbers }),
      retry: patient,
      read: readJson<UploadedBlob>,
    },
    { signal },
  )
}

async function begin(scope: Scope, size: number | null, options: UploadOptions): Promise<UploadState> {
  const { resume, begun, signal } = options
  if (resume !== undefined) return scope.json(`/uploads/${encodeURIComponent(resume)}`, { signal })
  const state = await scope.send<UploadState>('POST', '/uploads', size === null ? {} : { size }, { signal })
  begun?.(state.upload)
  return state
}

async function sendPart(
  scope: Scope,
  upload: string,
  part: number,
  bytes: Bytes,
  signal: AbortSignal | undefined,
): Promise<void> {
  const headers = { 'content-digest': contentDigest(await sha256(bytes)) }
  const call = { method: 'PUT' as const, headers, body: bytes, retry: patient, read: readJson<object> }
  await scope.write(`/uploads/${upload}/parts/${part}`, call, { signal })
}

interface Parts {
  /** Bytes of the whole, if they are known beforehand. */
  size: number | null
  /** The next part, or null. */
  next(most: number): Promise<Bytes | null>
}

function partsOf(content: FileSource): Parts {
  if (content instanceof ReadableStream) return streamedParts(content)
  const whole = content instanceof Blob ? content : new Blob([plainPart(content)])
  let at = 0
  return {
    size: whole.size,
    async next(most) {
      if (at >= whole.size) return null
      const part = new Uint8Array(await whole.slice(at, at + most).arrayBuffer())
      at += part.byteLength
      return part
    },
  }
}

function plainPart(content: string | Uint8Array | ArrayBuffer): string | Bytes | ArrayBuffer {
  return content instanceof Uint8Array ? new Uint8Array(content) : content
}

function streamedParts(stream: ReadableStream<Uint8Array>): Parts {
  const reader = stream.getReader()
  let left: Uint8Array = new Uint8Array()
  let ended = false
  return {
    size: null,
    async next(most) {
      const part = new Uint8Array(most)
      let filled = 0
      while (filled < most) {
        if (left.byteLength === 0) {
          if (ended) break
          const { done, value } = await reader.read()
          ended = done
          left = value ?? new Uint8Array()
          continue
        }
        const taken = left.subarray(0, most - filled)
        part.set(taken, filled)
        filled += taken.byteLength
        left = left.subarray(taken.byteLength)
      }
      return filled === 0 ? null : part.subarray(0, filled)
    },
  }
}
