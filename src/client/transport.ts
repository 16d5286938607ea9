// One request, as often as it takes: the credential, the idempotency key, the clock and the retries live here, so that
// what is above speaks only of the API.

import { errorFrom, LaresError, NetworkError } from './errors.ts'
import { encodeQuery, type Query } from './paths.ts'
import { Attempts, defaultRetry, type RetryOptions, type RetryPolicy } from './retry.ts'

/** An API key or session token, or what gives one: called for every try, so that a short-lived token can be renewed. */
export type TokenSource = string | (() => string | Promise<string>)

export interface TransportOptions {
  url: string
  token: TokenSource
  fetch?: typeof fetch | undefined
  retry?: RetryOptions | undefined
}

export interface Call<T> {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'
  /** Begins with `/`, already encoded. */
  path: string
  query?: Query
  headers?: Record<string, string | undefined>
  /** A stream can be sent once: such a call is to have one try. */
  body?: string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array> | undefined
  signal?: AbortSignal | undefined
  /** Milliseconds that the edge may take beyond the usual: it was asked to wait. */
  patience_ms?: number
  /** The answer's body is handed on, not read: no clock runs once it begins. */
  open?: boolean
  /** Overrides the client's retries. */
  retry?: RetryOptions
  /** Makes a value of a success. Is run inside the try: a body cut off is asked for again. */
  read(response: Response): Promise<T> | T
}

export class Transport {
  readonly #url: string
  readonly #token: TokenSource
  readonly #fetch: typeof fetch
  readonly #retry: RetryPolicy

  constructor(options: TransportOptions) {
    // Parsed once, so that a bad address is a TypeError here and not a network failure later.
    this.#url = addressOf(options.url)
    this.#token = options.token
    // Called without `this`: browsers and Workers refuse a fetch that is called as a method of something else.
    const own = options.fetch
    this.#fetch = own === undefined ? (input, init) => fetch(input, init) : (input, init) => own(input, init)
    this.#retry = { ...defaultRetry, ...options.retry }
  }

  /**
   * Sends until there is an answer, or no more sense in trying.
   *
   * @throws {LaresError} the edge refused
   * @throws {NetworkError} nothing answered
   * @throws the signal's reason, when it aborts
   */
  async call<T>(call: Call<T>): Promise<T> {
    const policy = { ...this.#retry, ...call.retry }
    const attempts = new Attempts(policy)
    const url = this.#url + call.path + encodeQuery(call.query ?? {})
    for (;;) {
      call.signal?.throwIfAborted()
      try {
        return await this.#once(url, call, attempts.allowance(policy.try_ms + (call.patience_ms ?? 0)))
      } catch (error) {
        await attempts.pause(error, call.signal)
      }
    }
  }

  async #once<T>(url: string, call: Call<T>, allowed_ms: number): Promise<T> {
    const headers = await this.#headers(call)
    const clock = startClock(allowed_ms, call.signal)
    try {
      // A HEAD or GET with a body is a TypeError; undefined is not a body.
      const init = { method: call.method, headers, signal: clock.signal }
      const response = await this.#fetch(
        url,
        call.body === undefined ? init : { ...init, body: call.body, ...duplexOf(call.body) },
      )
      if (!response.ok && response.status !== 304) throw await errorFrom(response)
      return await call.read(response)
    } catch (error) {
      throw named(error, clock, call)
    } finally {
      clock.stop(call.open === true)
    }
  }

  async #headers(call: Call<unknown>): Promise<Headers> {
    const token = typeof this.#token === 'string' ? this.#token : await this.#token()
    const headers = new Headers({ authorization: `Bearer ${token}` })
    for (const [name, value] of Object.entries(call.headers ?? {})) {
      if (value !== undefined) headers.set(name, value)
    }
    return headers
  }
}

function addressOf(url: string): string {
  if (!URL.canParse(url))
    throw new TypeError(`url is ${JSON.stringify(url)}, not an address such as https://lares.example.com`)
  return new URL(url).href.replace(/\/+$/, '')
}

/** What the standard asks for with a stream, and no type knows yet. */
function duplexOf(body: unknown): object {
  return body instanceof ReadableStream ? { duplex: 'half' } : {}
}

interface Clock {
  signal: AbortSignal
  ranOut(): boolean
  stop(keepSignal: boolean): void
}

/** A signal that aborts with the caller's, and after `ms`. Written out because `AbortSignal.any` is not everywhere yet. */
function startClock(ms: number, outer: AbortSignal | undefined): Clock {
  const controller = new AbortController()
  const follow = () => controller.abort(outer?.reason)
  if (outer?.aborted) follow()
  outer?.addEventListener('abort', follow, { once: true })
  let late = false
  const timer = setTimeout(() => {
    late = true
    controller.abort(new Error(`no answer within ${Math.round(ms)} ms`))
  }, ms)
  return {
    signal: controller.signal,
    ranOut: () => late,
    stop(keepSignal) {
      clearTimeout(timer)
      if (!keepSignal) outer?.removeEventListener('abort', follow)
    },
  }
}

/** Tells a refusal, the caller's own abort and a failure of the network apart. */
function named(error: unknown, clock: Clock, call: Call<unknown>): unknown {
  if (error instanceof LaresError) return error
  if (call.signal?.aborted) return call.signal.reason
  const why = clock.ranOut() ? 'no answer in time' : reason(error)
  return new NetworkError(`${call.method} ${call.path}: ${why}`, { cause: error })
}

/** With what lies below it: `fetch failed` alone does not say whether the address is wrong or nobody is there. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, cause } = error
  if (!(cause instanceof Error)) return message
  // Several addresses of one name that all failed are an error without a message.
  const below = cause.message !== '' ? cause.message : 'code' in cause ? String(cause.code) : ''
  return below === '' ? message : `${message}: ${below}`
}
