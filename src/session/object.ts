// What every Session object does apart from what it is asked: it opens its world, guards the door, and works behind the answer
// (catalog, take-over of a fork's rows, expiry, retention).

import { DurableObject } from 'cloudflare:workers'
import { embedderOf } from '../embed/provider.ts'
import type { Env } from '../env.ts'
import { type Failure, fail } from '../protocol/errors.ts'
import { forgetAnswers } from './answers.ts'
import { Bytes } from './bytes.ts'
import { admit, prolong } from './lease.ts'
import { forgetOffers } from './offers.ts'
import { type Delivery, deliver, outboxHolds, withdraw } from './outbox.ts'
import { EmbeddingsDue } from './recall/embeddings-due.ts'
import type { Caller } from './rpc.ts'
import { NewerSchema } from './schema.ts'
import { CellsDue } from './tables/cells-due.ts'
import type { Embed } from './tables/functions.ts'
import { Tail } from './tail.ts'
import { pendingErasures } from './time/erase.ts'
import { carryOut } from './time/erasing.ts'
import { releaseFamily, sweepPages } from './time/family.ts'
import { Forks, stubOf } from './time/forks.ts'
import { stageDue } from './time/import.ts'
import { pruneStep, prunes } from './time/retention.ts'
import { hasSnapshotNews, tellOfSnapshots } from './time/snapshot-news.ts'
import { World } from './world.ts'

/** Milliseconds between a write and its way to the catalog, so that a burst travels as one. */
const projectionDelay = 100
const newerSchemaDelay = 60_000
/** The same while writes go on: each delivery costs much the same, however much it carries. */
const busyDelay = 1_000
/** Between two parts of one delivery. */
const nextPartDelay = 10
/** Milliseconds between the steps of a fork's take-over, so that its first readers and writers are not kept waiting. */
const takeOverPause = 20
const pageSweepEvery = 24 * 3600 * 1000
const retryDelays = [1_000, 2_000, 5_000, 15_000, 30_000]

export abstract class SessionObject extends DurableObject<Env> {
  /** Null when the object was written by a newer Lares, which this one must not touch. */
  protected readonly world: World | null
  protected readonly tail: Tail | null
  protected readonly bytes: Bytes | null
  protected readonly forks: Forks | null
  protected readonly cells: CellsDue | null
  protected readonly embeddings: EmbeddingsDue | null
  #alarmSet = false
  #pages: Promise<unknown> = Promise.resolve()
  #failures = 0
  /** When the catalog was last told something. */
  #told = 0

  constructor(context: DurableObjectState, env: Env) {
    super(context, env)
    this.world = openWorld(context.storage)
    this.tail = this.world && new Tail(context, this.world)
    this.bytes = this.world && new Bytes(this.world, env)
    this.forks = this.world && new Forks(env, this.world)
    this.embeddings =
      this.world &&
      new EmbeddingsDue(
        this.world,
        env,
        () => this.indexReady(),
        () => this.committed(),
      )
    this.cells = this.world && new CellsDue(this.world, embedder(env), () => this.committed())
  }

  override async alarm(): Promise<void> {
    const world = this.world
    this.#alarmSet = false
    // Whoever wrote this object knows what to do; a dropped alarm would leave its outbox full.
    if (!world) return this.ctx.storage.setAlarm(Date.now() + newerSchemaDelay)
    if (world.state === 'new') return
    if (world.state === 'staged') return this.#giveUp(world)
    if (world.state === 'deleted') return this.#depart(world)
    const { expires_at } = world.identity
    if (expires_at !== null && expires_at <= Date.now()) {
      this.end()
      return
    }
    if (this.forks?.pending) await this.#takeOver(this.forks)
    this.cells?.start()
    this.embeddings?.start()
    const unfinished = await this.#finish(world)
    let delivery: Delivery = 'done'
    if (outboxHolds(world)) {
      this.#told = Date.now()
      delivery = await deliver(world, this.env.CATALOG)
    }
    if ((await this.bytes?.work()) === 'failed' || unfinished || this.forks?.pending) delivery = 'failed'
    if (
      world.state === 'live' &&
      hasSnapshotNews(world) &&
      (await tellOfSnapshots(world, this.env)) === 'failed'
    )
      delivery = 'failed'
    if (world.state === 'live' && prunes(world)) await this.#settleChildren()
    if (world.state === 'live' && pruneStep(world, Date.now()) && delivery === 'done') delivery = 'more'
    this.#failures = delivery === 'failed' ? this.#failures + 1 : 0
    if (delivery === 'done' && world.state === 'live') this.#tidy(world)
    await this.#rearm(delivery)
  }

  /** Resolves when recall's index speaks of all there is. */
  protected abstract indexReady(): Promise<unknown>

  /** Drops a world whose import was cut off. */
  async #giveUp(world: World): Promise<void> {
    const due = stageDue(world)
    if (due !== null && due > Date.now()) await this.ctx.storage.setAlarm(due)
    else world.unstage()
  }

  /** Forgets old answers, at most once an hour: finding them reads all there are. Its row outlives an object that sleeps. */
  #tidy(world: World): void {
    const now = Date.now()
    const tidied = Number(world.meta('tidied') ?? world.identity.created_at)
    if (now - tidied < 3_600_000) return
    forgetOffers(world, now)
    if (!forgetAnswers(world, now)) world.setMeta('tidied', String(now))
  }

  /** A parent that does not answer makes the child late, no more. */
  async #takeOver(forks: Forks): Promise<void> {
    try {
      await forks.takeOver(takeOverPause)
    } catch (error) {
      console.warn('the parent could not be reached', error instanceof Error ? error.message : 'unknown')
    }
  }

  /** Pages of dropped snapshots, once a day at most; snapshots wait for it, and it for them. */
  async #sweepPages(world: World): Promise<void> {
    const now = Date.now()
    if (now - Number(world.meta('pages_swept') ?? world.identity.created_at) < pageSweepEvery) return
    await this.alone(async () => {
      if (world.state !== 'live') return
      await sweepPages(world, this.env, now)
      if (world.state === 'live') world.setMeta('pages_swept', String(now))
    })
  }

  /** Runs one thing at a time of those that write or remove pages. */
  protected alone<T>(act: () => Promise<T>): Promise<T> {
    const next = this.#pages.then(act)
    this.#pages = next.catch(() => {})
    return next
  }

  /** Erasures that a crash left half done. Answers whether some still are. */
  async #finish(world: World): Promise<boolean> {
    try {
      await this.#sweepPages(world)
      if (pendingErasures(world).length > 0) {
        await carryOut(world, this.env, (session) => stubOf(this.env, world.identity.fleet, session))
      }
      return false
    } catch (error) {
      console.warn(
        'an erasure or a sweep of pages could not be finished',
        error instanceof Error ? error.message : 'unknown',
      )
      return true
    }
  }

  /** Ends the session for everyone. Its rows go at once, or when the last fork has taken over what it needs. */
  protected end(): void {
    this.world?.close()
    this.tail?.closeAll('deleted')
    this.schedule()
  }

  async #depart(world: World): Promise<void> {
    if (!world.buried) {
      const settled = await this.#settleChildren()
      if (!settled) {
        this.#failures++
        return this.ctx.storage.setAlarm(Date.now() + this.#pause('failed'))
      }
      try {
        world.bury()
      } catch (error) {
        // A statement that was broken off may still be open; it is collected in time.
        console.warn('a session could not be buried yet', error instanceof Error ? error.message : 'unknown')
        return this.ctx.storage.setAlarm(Date.now() + newerSchemaDelay)
      }
    }
    const buried: { fleet: string; session: string; family: string } = JSON.parse(
      world.meta('deleted') ?? '{}',
    )
    let delivery = await withdraw(this.env.CATALOG, buried.fleet, buried.session)
    try {
      if (await this.bytes?.handBack(buried.fleet, buried.session)) delivery = 'more'
      else await releaseFamily(this.env, buried.fleet, buried.session, buried.family)
    } catch {
      delivery = 'failed'
    }
    this.#failures = delivery === 'failed' ? this.#failures + 1 : 0
    if (delivery !== 'done') await this.ctx.storage.setAlarm(Date.now() + this.#pause(delivery))
  }

  async #settleChildren(): Promise<boolean> {
    try {
      return (await this.forks?.settleChildren()) ?? true
    } catch {
      return false
    }
  }

  /** The next alarm: soon while the catalog lacks something, at the session's end otherwise, and none when it has none. */
  async #rearm(delivery: Delivery): Promise<void> {
    const world = this.world
    // What is left over goes at once, whenever a write meanwhile would have had it go.
    if (!world || (this.#alarmSet && delivery !== 'more')) return
    if (
      world.state === 'deleted' ||
      delivery !== 'done' ||
      outboxHolds(world) ||
      hasSnapshotNews(world) ||
      this.forks?.pending
    ) {
      this.#alarmSet = true
      await this.ctx.storage.setAlarm(Date.now() + this.#pause(delivery))
      return
    }
    const works = [this.bytes, this.cells, this.embeddings].map((work) => work?.due() ?? null)
    const dues = [world.identity.expires_at, ...works].filter((due) => due !== null)
    // A moment later at least: an alarm set for now, from within an alarm, may not come.
    if (dues.length > 0)
      await this.ctx.storage.setAlarm(Math.max(Math.min(...dues), Date.now() + projectionDelay))
  }

  /** Milliseconds until the catalog is told more. */
  #pause(delivery: Delivery): number {
    if (delivery === 'more') return nextPartDelay
    const retry = retryDelays[Math.min(this.#failures, retryDelays.length) - 1]
    return retry ?? (Date.now() - this.#told < busyDelay ? busyDelay : projectionDelay)
  }

  /** In the same step as the write, so that both become durable together. */
  protected schedule(): void {
    if (this.#alarmSet) return
    this.#alarmSet = true
    this.ctx.storage.setAlarm(Date.now() + this.#pause('done'))
  }

  /** Every method's door: a session that is not there, was deleted or has expired answers so, whatever is asked. */
  protected async with<T>(act: (world: World) => T | Promise<T>): Promise<T | Failure> {
    // A fork answers from its own rows; what is still its parent's comes over first.
    if (this.forks?.pending && this.world?.closed() === null) await this.forks.takeOver()
    return this.atOnce(act)
  }

  /** The same for what needs none of a parent's rows. */
  protected async atOnce<T>(act: (world: World) => T | Promise<T>): Promise<T | Failure> {
    const { world } = this
    if (!world) return newerSchema()
    const closed = world.closed()
    if (closed) return closed
    try {
      return spokenOf(world, await act(world))
    } catch (error) {
      // What was deleted while this waited for something has no rows left to read.
      const gone = world.closed()
      if (gone) return gone
      throw error
    }
  }

  /** A write that makes no version still needs the lease. */
  protected writing<T>(caller: Caller, act: (world: World) => T): Promise<T | Failure> {
    return this.with((world) => {
      const admitted = admit(world, caller.lease)
      if ('code' in admitted) return admitted
      if (admitted.held) prolong(world)
      return act(world)
    })
  }

  /** Runs something that may commit, and tells the catalog and the tails of what it committed. */
  protected committing<T>(act: (world: World) => T): (world: World) => T {
    return (world) => {
      const before = world.head.version
      const outcome = act(world)
      if (world.head.version > before) this.committed()
      return outcome
    }
  }

  protected committed(): void {
    this.schedule()
    this.tail?.announce()
  }
}

/** Every answer about a session says of which version it speaks, a refusal too. */
function spokenOf<T>(world: World, outcome: T): T {
  if (typeof outcome !== 'object' || outcome === null || world.state !== 'live') return outcome
  const refused = 'ok' in outcome && outcome.ok === false && !('head' in outcome)
  return refused ? { ...outcome, head: world.head.version } : outcome
}

/** Embeddings for columns, from the providers that memory has. */
function embedder(env: Env): Embed {
  return async (texts, by) => {
    const vectors = await embedderOf(env, by)?.embed(texts)
    if (vectors === undefined) throw new Error('there is no such provider')
    return vectors.map((vector) => [...vector])
  }
}

function openWorld(storage: DurableObjectStorage): World | null {
  try {
    return new World(storage)
  } catch (error) {
    if (error instanceof NewerSchema) return null
    throw error
  }
}

export function newerSchema(): Failure {
  return fail('unavailable', 'this session was written by a newer version of Lares', { retry_after: 60 })
}
