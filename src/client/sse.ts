// Server-Sent Events out of a byte stream.

import { createParser, type EventSourceMessage } from 'eventsource-parser'

export type { EventSourceMessage }

/** Told what is not an event. */
export interface SseListener {
  /** Bytes came, of whatever sort: the connection is alive. */
  heard?(): void
  /** The server asks for this pause before a reconnection, in milliseconds. */
  retry?(ms: number): void
  /** Ends the reading when it aborts, even where a `fetch` leaves a body open. */
  signal?: AbortSignal
}

/**
 * The events of a stream, until it ends. Leaving the loop early frees the stream.
 *
 * @throws the signal's reason, when it aborts
 */
export async function* readEvents(
  stream: ReadableStream<Uint8Array>,
  listener: SseListener = {},
): AsyncGenerator<EventSourceMessage, void, undefined> {
  const decoder = new TextDecoder()
  const events: EventSourceMessage[] = []
  const parser = createParser({
    onEvent: (event) => void events.push(event),
    onRetry: (ms) => listener.retry?.(ms),
  })
  const reader = stream.getReader()
  const free = () => void reader.cancel().catch(() => undefined)
  listener.signal?.addEventListener('abort', free, { once: true })
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      listener.heard?.()
      parser.feed(decoder.decode(next.value, { stream: true }))
      yield* events.splice(0)
    }
    listener.signal?.throwIfAborted()
  } finally {
    listener.signal?.removeEventListener('abort', free)
    // Without this the connection would stay open behind a consumer that has gone.
    free()
  }
}
