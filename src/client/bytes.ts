// What people hand in as the content of a file, and how it becomes bytes that can be sent twice and hashed.

/** The content of a file. A string is written as UTF-8. */
export type FileSource = string | Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array>

/** Bytes backed by plain memory, as `fetch` and `crypto` want them. */
export type Bytes = Uint8Array<ArrayBuffer>

/**
 * All bytes of a source, in memory: a retry must send the same again, and the hash comes before the bytes.
 *
 * @throws {TypeError} a string that holds a lone surrogate: UTF-8 cannot keep it
 */
export async function collect(source: FileSource): Promise<Bytes> {
  if (typeof source === 'string') {
    if (!source.isWellFormed())
      throw new TypeError('the text holds a lone surrogate, which UTF-8 cannot keep')
    return plain(new TextEncoder().encode(source))
  }
  if (source instanceof Uint8Array) return plain(source)
  if (source instanceof ArrayBuffer) return new Uint8Array(source)
  if (source instanceof Blob) return new Uint8Array(await source.arrayBuffer())
  return join(source)
}

/** The content as bytes when it has at most so many; otherwise the content, still whole, to be sent in parts. */
export async function upTo(
  source: FileSource,
  most: number,
): Promise<{ whole: Bytes; rest: null } | { whole: null; rest: FileSource }> {
  if (!(source instanceof ReadableStream)) {
    const size = source instanceof Blob ? source.size : typeof source === 'string' ? 0 : source.byteLength
    if (size > most) return { whole: null, rest: source }
    const whole = await collect(source)
    return whole.byteLength > most ? { whole: null, rest: whole } : { whole, rest: null }
  }
  const reader = source.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  while (size <= most) {
    const { done, value } = await reader.read()
    if (done) return { whole: joined(chunks, size), rest: null }
    chunks.push(value)
    size += value.byteLength
  }
  const rest = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = chunks.shift() ?? (await reader.read()).value
      if (chunk === undefined) controller.close()
      else controller.enqueue(chunk)
    },
    cancel: (reason) => reader.cancel(reason),
  })
  return { whole: null, rest }
}

/** The media type that a source tells of itself. A text tells none: the edge makes one of bytes and name together. */
export function typeOf(source: FileSource): string | undefined {
  // But for the empty text, which as bytes could be anything.
  if (source === '') return 'text/plain; charset=utf-8'
  return source instanceof Blob && source.type !== '' ? source.type : undefined
}

/** SHA-256 of bytes. */
export async function sha256(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** RFC 9530 `Content-Digest`: the edge checks what arrived against it. */
export function contentDigest(sha: Uint8Array): string {
  return `sha-256=:${btoa(String.fromCharCode(...sha))}:`
}

function plain(bytes: Uint8Array): Bytes {
  const { buffer, byteOffset, byteLength } = bytes
  // Shared memory could change between the hash and the sending, and `crypto` refuses it.
  return buffer instanceof ArrayBuffer
    ? new Uint8Array(buffer, byteOffset, byteLength)
    : new Uint8Array(bytes)
}

async function join(stream: ReadableStream<Uint8Array>): Promise<Bytes> {
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = stream.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    chunks.push(next.value)
    size += next.value.byteLength
  }
  return joined(chunks, size)
}

function joined(chunks: readonly Uint8Array[], size: number): Bytes {
  const all = new Uint8Array(size)
  let offset = 0
  for (const chunk of chunks) {
    all.set(chunk, offset)
    offset += chunk.byteLength
  }
  return all
}
