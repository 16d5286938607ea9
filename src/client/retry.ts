// When to try again, and after how long: full of decisions and free of I/O, but for one sleep.

import { LaresError, NetworkError } from './errors.ts'

/** Times are milliseconds. */
export interface RetryOptions {
  /** Tries of one call, the first included. Default 8; 1 means never again. */
  tries?: number
  /** One call, all its tries and pauses together. Default 60,000. */
  total_ms?: number
  /** One try, up to the end of its answer (of a stream: up to its beginning). Default 30,000. */
  try_ms?: number
  /** The first pause; each one after it is twice as long. Default 100. */
  first_ms?: number
  /** The longest pause, unless the edge asks for a longer one. Default 5,000. */
  pause_ms?: number
}

export type RetryPolicy = Required<RetryOptions>

export const defaultRetry: RetryPolicy = {
  tries: 8,
  total_ms: 60_000,
  try_ms: 30_000,
  first_ms: 100,
  pause_ms: 5_000,
}

/** The tries of one call. */
export class Attempts {
  tries = 1
  readonly #policy: RetryPolicy
  readonly #deadline: number

  constructor(policy: RetryPolicy, now = Date.now()) {
    this.#policy = policy
    this.#deadline = now + policy.total_ms
  }

  /** Milliseconds the next try may take, when one may take `try_ms`. */
  allowance(try_ms: number): number {
    return Math.max(1, Math.min(try_ms, this.#deadline - Date.now()))
  }

  /**
   * Waits for the next try.
   *
   * @throws the error, when another try is of no use or would begin too late.
   */
  async pause(error: unknown, signal?: AbortSignal): Promise<void> {
    const ms = Math.max(backoff(this.tries, this.#policy), askedPause(error))
    const late = Date.now() + ms >= this.#deadline
    if (!isTransient(error) || this.tries >= this.#policy.tries || late) throw counted(error, this.tries)
    await sleep(ms, signal)
    this.tries++
  }
}

/** Can the very same request succeed later, without anyone changing anything? */
export function isTransient(error: unknown): boolean {
  if (error instanceof NetworkError) return true
  if (!(error instanceof LaresError)) return false
  // The first try of this very call is still at work; asked again, the edge gives its answer.
  if (error.code === 'in_flight') return true
  // 502, 504 and 52x are proxies that could not reach the edge.
  return [429, 502, 503, 504].includes(error.status) || (error.status >= 520 && error.status <= 530)
}

/** Pause after try number `tries`: exponential, the upper half random, so that clients do not come back together. */
export function backoff(
  tries: number,
  policy: Pick<RetryPolicy, 'first_ms' | 'pause_ms'>,
  random = Math.random,
): number {
  const full = Math.min(policy.pause_ms, policy.first_ms * 2 ** (tries - 1))
  return full / 2 + (random() * full) / 2
}

/** Resolves after `ms`; rejects with the signal's reason when it aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const wake = () => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }
    const timer = setTimeout(wake, ms)
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', stop, { once: true })
  })
}

function askedPause(error: unknown): number {
  return error instanceof LaresError ? (error.retry_after ?? 0) * 1000 : 0
}

function counted(error: unknown, tries: number): unknown {
  if (!(error instanceof NetworkError) || tries === error.tries) return error
  return new NetworkError(`${error.message} (${tries} tries)`, { cause: error.cause, tries })
}
