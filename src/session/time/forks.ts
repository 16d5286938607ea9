// Forks as the object serves them: as a parent that hands over, and as a child that takes over.

import type { Env } from '../../env.ts'
import { type Failure, fail, type Outcome } from '../../protocol/errors.ts'
import type { EntryKind } from '../../protocol/refs.ts'
import { once } from '../answers.ts'
import { beingImported, show } from '../lifecycle.ts'
import { readEntry } from '../read-entries.ts'
import type { At, Caller, EntryRead, ForkInit, SessionStub } from '../rpc.ts'
import { resolveAt } from '../time.ts'
import type { World } from '../world.ts'
import { type ForkSeed, forgetChild, settleChild, unsettledChildren } from './fork.ts'
import { foundFork, hydrateStep, hydrationOf } from './hydration.ts'

/** `stranger`: a session of that name that is no fork of the asker. */
export type Standing = 'settled' | 'absent' | 'stranger'

/** How long a fork may take from its parent's word to its own first row. */
const foundingMs = 60_000

export class Forks {
  readonly #env: Env
  readonly #world: World
  #pending: boolean

  constructor(env: Env, world: World) {
    this.#env = env
    this.#world = world
    this.#pending = world.state === 'live' && hydrationOf(world) !== null
  }

  /** True while this session still lacks rows of its parent. */
  get pending(): boolean {
    return this.#pending
  }

  /** Founds this session as a fork. The same request again finds the same fork. */
  adopt(
    caller: Caller,
    init: ForkInit,
    seed: ForkSeed,
  ): Outcome<{ version: number; session: ReturnType<typeof show> }> {
    const world = this.#world
    if (world.state === 'staged') return beingImported()
    if (world.state !== 'new') {
      const closed = world.closed()
      if (closed) return closed
      const taken = (): Failure => fail('exists', 'there is a session of this name')
      return once(world, caller.idempotency, taken)
    }
    foundFork(world, seed, init)
    this.#pending = true
    return once(world, caller.idempotency, () => ({
      ok: true,
      version: world.head.version,
      session: show(world),
    }))
  }

  /**
   * Takes over everything that is still missing.
   *
   * @param pause milliseconds between steps, in which others are served; none for a reader who waits for it
   */
  async takeOver(pause = 0): Promise<void> {
    while (this.#pending) {
      await this.#step()
      if (pause > 0) await scheduler.wait(pause)
    }
  }

  async #step(): Promise<void> {
    if (!(await hydrateStep(this.#world, this.#env, this.#parent()))) this.#pending = false
  }

  /** One entry, asked of the parent while it is not here yet. */
  async entryFromParent(kind: EntryKind, key: string, at: At): Promise<Outcome<EntryRead>> {
    const origin = this.#world.identity.origin
    if (origin === null) throw new Error('only a fork has a parent')
    const known = at === null || 'version' in at ? resolveAt(this.#world, at) : null
    if (known?.ok === false) return known
    const version =
      at === null ? origin.version : 'version' in at ? Math.min(at.version, origin.version) : null
    if (version === null) {
      await this.takeOver()
      return readEntry(this.#world, kind, key, at)
    }
    const read = await this.#parent().forkEntry(kind, key, version)
    return read.ok ? { ...read, version: at === null ? this.#world.head.version : read.version } : read
  }

  /** What this session is to one that may be its parent; a child that still needs rows of it hurries. */
  async standing(parent: string): Promise<Standing> {
    const { state } = this.#world
    if (state === 'new') return 'absent'
    if (state !== 'live') return 'settled'
    if (this.#world.identity.origin?.session !== parent) return 'stranger'
    await this.takeOver()
    return 'settled'
  }

  /** Asks each child that may still need rows, and forgets those that do not. Answers whether all are settled. */
  async settleChildren(now = Date.now()): Promise<boolean> {
    const { fleet, session } = this.#world.identity
    let all = true
    for (const { session: child, begun } of unsettledChildren(this.#world)) {
      const standing = await stubOf(this.#env, fleet, child).forkStanding(session)
      if (standing === 'settled') settleChild(this.#world, child)
      // One that was begun a moment ago may be about to be founded.
      else if (standing === 'absent' && begun > now - foundingMs) all = false
      else forgetChild(this.#world, child)
    }
    return all
  }

  #parent(): SessionStub {
    const { fleet, origin } = this.#world.identity
    if (origin === null) throw new Error('only a fork has a parent')
    return stubOf(this.#env, fleet, origin.session)
  }
}

/** Another session of the fleet, by its RPC type: the platform's own mapping of it loses JSON of unknown shape. */
export function stubOf(env: Env, fleet: string, session: string): SessionStub {
  return env.SESSION.get(env.SESSION.idFromName(`${fleet}/${session}`)) as unknown as SessionStub
}
