// Bytes near their readers: the Cache API, under a blob's hash. Nobody reaches it but through a session that has just said
// yes, so what a deletion or an erasure takes away is out of reach at once, wherever copies are.

/** Larger blobs are read from R2 each time: filling the cache tees a stream, which may hold all of it in memory. */
const most = 8 * 1024 * 1024
/** A blob is immutable; this only bounds how long an unreachable copy stays. */
const seconds = 24 * 3600

export function isCacheable(size: number): boolean {
  return size <= most
}

/** The whole blob or one range of it, if it is near; null when it is not. */
export async function cached(
  fleet: string,
  sha256: string,
  range: { start: number; end: number } | null,
): Promise<ReadableStream<Uint8Array> | null> {
  const headers = range === null ? undefined : { range: `bytes=${range.start}-${range.end}` }
  const found = await cache().match(new Request(address(fleet, sha256), headers && { headers }))
  if (found === undefined) return null
  if (found.status === (range === null ? 200 : 206)) return found.body
  await found.body?.cancel()
  return null
}

/** Keeps a copy of what is being read; answers the stream to go on reading. */
export function keep(
  fleet: string,
  sha256: string,
  size: number,
  body: ReadableStream<Uint8Array>,
  wait: (promise: Promise<unknown>) => void,
): ReadableStream<Uint8Array> {
  const [reader, copy] = body.tee()
  const headers = { 'content-length': String(size), 'cache-control': `public, max-age=${seconds}, immutable` }
  // A cache that cannot take it makes the next read slower, no more.
  wait(
    cache()
      .put(address(fleet, sha256), new Response(copy, { headers }))
      .catch(() => {}),
  )
  return reader
}

function cache(): Cache {
  return caches.default
}

function address(fleet: string, sha256: string): string {
  return `https://blobs.lares.invalid/${fleet}/${sha256}`
}
