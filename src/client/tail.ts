// Following a world as it changes: every commit once, in order, over any number of connections.

import { LaresError, NetworkError } from './errors.ts'
import { backoff, isTransient, sleep } from './retry.ts'
import type { ReadOptions, Scope } from './scope.ts'
import { type EventSourceMessage, readEvents } from './sse.ts'
import type { CommitChanges, SessionShown } from './types.ts'

export interface TailOptions extends ReadOptions {
  /** Commits after this version; absent, those after the version the world has now. 0 begins at the beginning. */
  after?: number | undefined
  /** Milliseconds of silence after which a connection counts as dead. Default 60,000. */
  silence_ms?: number
  /** Called before each reconnection, with what ended the one before (nothing, if the edge closed it). */
  onReconnect?: (error: unknown) => void
}

/**
 * A commit; or a `gap`: history up to `head` can't be told one by one (it is gone from this world, or `after` was never
 * part of it). Read what you need as of `head`; the commits after it follow.
 */
export type TailItem = ({ event: 'commit' } & CommitChanges) | { event: 'gap'; head: number }

/**
 * Follows a session until the signal aborts or the loop is left. A lost connection is taken up again after the last
 * commit delivered, for as long as it takes.
 *
 * @throws {LaresError} the edge refuses for good: `unauthenticated`, `not_found`, `gone` …
 */
export async function* tail(scope: Scope, options: TailOptions): AsyncGenerator<TailItem, void, undefined> {
  const pace = new Pace()
  try {
    // A place to begin, before the first connection: commits made while it is lost are then not missed.
    let last = options.after ?? (await scope.json<SessionShown>('', options)).version
    for (;;) {
      let ended: unknown
      try {
        for await (const item of connect(scope, last, pace, options)) {
          last = item.event === 'gap' ? item.head : item.version
          pace.reset()
          yield item
        }
      } catch (error) {
        if (!isTransient(error)) throw error
        ended = error
      }
      await sleep(pace.next(), options.signal)
      options.onReconnect?.(ended)
    }
  } catch (error) {
    // Asked to stop: the loop ends as if the list did.
    if (!options.signal?.aborted) throw error
  }
}

/** The items of one connection that come after `last`. */
async function* connect(
  scope: Scope,
  last: number,
  pace: Pace,
  { signal, silence_ms = 60_000 }: TailOptions,
): AsyncGenerator<TailItem, void, undefined> {
  const line = new Line(silence_ms, signal)
  try {
    const response = await scope.read('/tail', {
      query: { after: last },
      headers: { accept: 'text/event-stream', 'last-event-id': String(last) },
      signal: line.signal,
      open: true,
      retry: { tries: 1 },
      read: (answer) => answer,
    })
    const listener = { heard: () => line.heard(), retry: (ms: number) => pace.asked(ms), signal: line.signal }
    yield* inOrder(readEvents(response.body ?? new Blob([]).stream(), listener), last)
  } catch (cause) {
    if (cause instanceof LaresError || cause instanceof NetworkError) throw cause
    throw new NetworkError('the tail was cut off', { cause })
  } finally {
    line.close()
  }
}

/** Drops what was delivered before; never skips a version without saying so. */
async function* inOrder(
  messages: AsyncIterable<EventSourceMessage>,
  last: number,
): AsyncGenerator<TailItem, void, undefined> {
  let fresh = true
  for await (const message of messages) {
    const item = parse(message)
    if (item === null) continue
    if (item.event === 'commit') {
      if (item.version <= last) continue
      if (item.version > last + 1) {
        // Something was lost on this line: ask again. When even the first answer skips, there is nothing in between.
        if (!fresh) throw new NetworkError(`the tail went from ${last} to ${item.version}`)
        yield { event: 'gap', head: item.version - 1 }
      }
    }
    fresh = false
    last = item.event === 'gap' ? item.head : item.version
    yield item
  }
}

/** Null for an event of a sort this SDK does not know. */
function parse({ event, data }: EventSourceMessage): TailItem | null {
  if (event !== 'commit' && event !== 'gap') return null
  return { ...JSON.parse(data), event }
}

/** A connection that is given up when nothing is heard for too long: a half-open one would never tell. */
class Line {
  readonly #controller = new AbortController()
  readonly #silence_ms: number
  readonly #outer: AbortSignal | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(silence_ms: number, outer: AbortSignal | undefined) {
    this.#silence_ms = silence_ms
    this.#outer = outer
    if (outer?.aborted) this.#follow()
    outer?.addEventListener('abort', this.#follow, { once: true })
    this.heard()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  heard(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#controller.abort(new NetworkError(`the tail was silent for ${this.#silence_ms} ms`))
    }, this.#silence_ms)
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#outer?.removeEventListener('abort', this.#follow)
    this.#controller.abort()
  }

  readonly #follow = (): void => this.#controller.abort(this.#outer?.reason)
}

/** Pauses between connections: short after one that delivered, longer and longer while none does. */
class Pace {
  #failures = 0
  #first_ms = 100

  asked(ms: number): void {
    this.#first_ms = Math.max(100, ms)
  }

  reset(): void {
    this.#failures = 0
  }

  next(): number {
    this.#failures++
    return backoff(this.#failures, { first_ms: this.#first_ms, pause_ms: Math.max(10_000, this.#first_ms) })
  }
}
