// The exclusive right to write a session, for a while.

import { LaresError } from './errors.ts'
import { isTransient } from './retry.ts'
import type { Scope } from './scope.ts'
import type { Session } from './session.ts'

export interface LeaseOptions {
  /** Who holds it, for people: shown to others that want it. */
  holder: string
  /** Seconds, 1 to 3600. Every write of the holder begins them anew. */
  ttl: number
  /** Take it from whoever has it; needs the scope `lease`. */
  steal?: boolean | undefined
  signal?: AbortSignal | undefined
}

/** What the edge grants. */
export interface LeaseGrant {
  epoch: number
  token: string
  expires_at: string
}

/**
 * A lease that is held. Write through {@link Lease.session}: its writes carry the token and are `fenced` as soon as
 * someone else has taken over.
 *
 * @example
 * await using lease = await lares.session('s1').lease({ holder: 'worker-7', ttl: 30 })
 * lease.keepAlive()
 * await lease.session.state.set('status', 'running')
 */
export class Lease implements AsyncDisposable {
  readonly holder: string
  /** Seconds. */
  readonly ttl: number
  readonly epoch: number
  /** Whoever has this may write. */
  readonly token: string
  /** The session, written with this lease. */
  readonly session: Session
  #expires_at: string
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #lost = new AbortController()
  readonly #scope: Scope

  /** `scope` and `session` carry the token of the grant. */
  constructor(scope: Scope, session: Session, { holder, ttl }: LeaseOptions, grant: LeaseGrant) {
    this.holder = holder
    this.ttl = ttl
    this.epoch = grant.epoch
    this.token = grant.token
    this.#expires_at = grant.expires_at
    this.#scope = scope
    this.session = session
  }

  /** RFC 3339. Writes push it further without it showing here. */
  get expires_at(): string {
    return this.#expires_at
  }

  /** Aborts when `keepAlive` learns that the lease is lost; the reason is the LaresError. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /**
   * Holds it for `ttl` more seconds, from now.
   *
   * @throws {LaresError} `fenced` when it is no longer yours
   */
  async renew(ttl = this.ttl, options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    const grant = await this.#scope.send<LeaseGrant>('PUT', '/lease', { ttl }, options)
    this.#expires_at = grant.expires_at
  }

  /** Renews three times a `ttl` until released or lost. Does not keep a process from ending. */
  keepAlive(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#beat(), (this.ttl * 1000) / 3)
    // Only Node's timers hold a process; only they have `unref`.
    if (typeof this.#timer === 'object' && 'unref' in this.#timer) this.#timer.unref()
  }

  /** Gives it back, so that another need not wait. One that is lost already is let go without a word. */
  async release(options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    this.#stop()
    try {
      await this.#scope.send('DELETE', '/lease', undefined, options)
    } catch (error) {
      if (!LaresError.is(error, 'fenced', 'not_found', 'gone')) throw error
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release()
  }

  async #beat(): Promise<void> {
    try {
      await this.renew()
    } catch (error) {
      // Out of reach, it may still be ours: the next beat, or the next write, will tell.
      if (!isTransient(error)) return this.#lost.abort(error)
    }
    if (this.#timer !== undefined) this.keepAlive()
  }

  #stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
