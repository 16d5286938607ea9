// Forks as the object serves them: as a parent that hands over, and as a child that takes over.

import type { Env } from '../../env.ts'
import { type Failure, fail, type Outcome } from '../../protocol/errors.ts'
import type { EntryKind } from '../../protocol/refs.ts'
import { once } from '../answers.ts'
import { beingImported, show } from '../lifecycle.ts'
import { readEntry } from '../read-entries.ts'
import type { At, Caller, EntryRead, ForkInit, SessionStub } from '../rpc.ts'
import type { World } from '../world.ts'
import { type ForkSeed, settleChild, unsettledChildren } from './fork.ts'
import { foundFork, hydrateStep, hydrationOf } from './hydration.ts'

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
    const version =
      at === null ? origin.version : 'version' in at ? Math.min(at.version, origin.version) : null
    if (version === null) {
      await this.takeOver()
      return readEntry(this.#world, kind, key, at)
    }
    const read = await this.#parent().forkEntry(kind, key, version)
    return read.ok ? { ...read, version: at === null ? this.#world.head.version : read.version } : read
  }

  /** Whether this session still needs its rows from a parent; asked, it hurries. */
  async wants(parent: string): Promise<boolean> {
    const { state } = this.#world
    if (state !== 'live' || !this.#pending || this.#world.identity.origin?.session !== parent) return false
    await this.takeOver()
    return false
  }

  /** Asks each child that may still need rows, and forgets those that do not. Answers whether all are settled. */
  async settleChildren(): Promise<boolean> {
    const { fleet, session } = this.#world.identity
    for (const child of unsettledChildren(this.#world)) {
      if (await stubOf(this.#env, fleet, child).forkWanted(session)) return false
      settleChild(this.#world, child)
    }
    return true
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
