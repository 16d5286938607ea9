// The Session object: one agent's world. It owns the versions and serialises the writes; each method is one synchronous step
// over the world, so that no other request can come between a check and the write it guards.

import { DurableObject } from 'cloudflare:workers'
import type { Env } from '../env.ts'
import { type Failure, fail, type Outcome } from '../protocol/errors.ts'
import type { SessionPatch, SessionShown } from '../protocol/resources.ts'
import { forgetAnswers, once } from './answers.ts'
import type { NewBlob, UploadPart, UploadShown } from './blob-rpc.ts'
import { findBlob, holdBlobs, locateBlobs, missingBlobs, unneededKeys } from './blobs.ts'
import { Bytes } from './bytes.ts'
import { commit } from './commit.ts'
import { listCommits, readCommit } from './history.ts'
import { acquire, admit, release, renew } from './lease.ts'
import { found, patchIdentity, show } from './lifecycle.ts'
import { deliver, outboxHolds, withdraw } from './outbox.ts'
import { listEntries, readEntry } from './read-entries.ts'
import { listLog, pending, readEvent } from './read-log.ts'
import * as Rpc from './rpc.ts'
import { NewerSchema } from './schema.ts'
import { Tail } from './tail.ts'
import { abortUpload, addPart, beginUpload, readUpload, sealUpload } from './uploads.ts'
import { World } from './world.ts'

/** Milliseconds between a write and its way to the catalog, so that a burst travels as one. */
const projectionDelay = 100
const retryDelays = [1_000, 2_000, 5_000, 15_000, 30_000]

export class Session extends DurableObject<Env> implements Rpc.SessionRpc {
  /** Null when the object was written by a newer Lares, which this one must not touch. */
  readonly #world: World | null
  readonly #tail: Tail | null
  readonly #bytes: Bytes | null
  #alarmSet = false
  #failures = 0
  #tidied = Date.now()

  constructor(context: DurableObjectState, env: Env) {
    super(context, env)
    this.#world = openWorld(context.storage)
    this.#tail = this.#world && new Tail(context, this.#world)
    this.#bytes = this.#world && new Bytes(this.#world, env)
  }

  // Lifecycle

  async create(caller: Rpc.Caller, init: Rpc.SessionInit) {
    const world = this.#world
    if (!world) return newerSchema()
    const founded = found(world, init, this.env.LARES_DIGEST_SECRET)
    if ('code' in founded) return founded
    this.#schedule()
    const answer = () => ({
      ok: true as const,
      ...founded,
      version: world.head.version,
      session: show(world),
    })
    return once<{ created: boolean; version: number; session: SessionShown }>(
      world,
      caller.idempotency,
      answer,
    )
  }

  async describe() {
    return this.#with((world) => ({ ok: true as const, version: world.head.version, session: show(world) }))
  }

  async patch(caller: Rpc.Caller, patch: SessionPatch) {
    return this.#with((world) => {
      const admitted = admit(world, caller.lease)
      if ('code' in admitted) return admitted
      return once<{ version: number; session: SessionShown }>(world, caller.idempotency, () => {
        const patched = patchIdentity(world, patch)
        if (!patched.ok) return patched
        this.#schedule()
        return { ok: true, version: world.head.version, session: show(world) }
      })
    })
  }

  async destroy(): Promise<Outcome<object>> {
    const world = this.#world
    if (!world) return newerSchema()
    if (world.state === 'deleted') return { ok: true }
    if (world.state === 'new') return fail('not_found', 'no such session')
    world.bury()
    this.#tail?.closeAll('deleted')
    this.#schedule()
    return { ok: true }
  }

  // Writing

  async commit(caller: Rpc.Caller, request: Rpc.CommitRequest) {
    return this.#with((world) => {
      const before = world.head.version
      const outcome = commit(world, caller, request)
      if (world.head.version > before) {
        this.#schedule()
        this.#tail?.announce()
      }
      return outcome
    })
  }

  async holdBlobs(caller: Rpc.Caller, blobs: NewBlob[]) {
    return this.#write(caller, (world) => {
      world.storage.transactionSync(() => holdBlobs(world, blobs, Date.now()))
      this.#schedule()
      return { ok: true as const, version: world.head.version }
    })
  }

  async beginUpload(caller: Rpc.Caller, upload: Omit<UploadShown, 'state' | 'blob'>) {
    return this.#write(caller, (world) => {
      beginUpload(world, upload, Date.now())
      this.#schedule()
      return { ok: true as const, version: world.head.version }
    })
  }

  async readUpload(upload: string) {
    return this.#with((world) => readUpload(world, upload))
  }

  async addPart(caller: Rpc.Caller, upload: string, part: UploadPart) {
    return this.#write(caller, (world) => addPart(world, upload, part, Date.now()))
  }

  async sealUpload(caller: Rpc.Caller, upload: string, sha256: string, size: number) {
    return this.#write(caller, (world) => sealUpload(world, upload, sha256, size, Date.now()))
  }

  async abortUpload(caller: Rpc.Caller, upload: string) {
    return this.#write(caller, (world) => {
      const aborted = abortUpload(world, upload)
      if (aborted.ok) this.#schedule()
      return aborted
    })
  }

  // Reading

  async listCommits(query: Rpc.CommitQuery) {
    return this.#with((world) => listCommits(world, query))
  }

  async readCommit(version: number) {
    return this.#with((world) => readCommit(world, version))
  }

  async listLog(query: Rpc.LogQuery) {
    return this.#with((world) => listLog(world, query))
  }

  async readEvent(seq: number, at: Rpc.At) {
    return this.#with((world) => readEvent(world, seq, at))
  }

  async pending(query: Rpc.PageQuery) {
    return this.#with((world) => pending(world, query))
  }

  async readEntry(kind: 'state' | 'file', key: string, at: Rpc.At) {
    return this.#with((world) => readEntry(world, kind, key, at))
  }

  async listEntries(kind: 'state' | 'file', query: Rpc.EntryQuery) {
    return this.#with((world) => listEntries(world, kind, query))
  }

  // Bytes

  async findBlob(sha256: string) {
    return this.#with((world) => {
      const found = findBlob(world.sql, sha256)
      if (!found) return fail('not_found', 'this session does not hold this blob')
      return { ok: true as const, version: world.head.version, ...found }
    })
  }

  async missingBlobs(digests: string[]) {
    return this.#with((world) => ({
      ok: true as const,
      version: world.head.version,
      missing: missingBlobs(world, digests, Date.now()),
    }))
  }

  async locateBlobs(digests: string[] | null) {
    await this.flushBlobs()
    return this.#with((world) => ({
      ok: true as const,
      version: world.head.version,
      blobs: locateBlobs(world.sql, digests),
    }))
  }

  async flushBlobs(): Promise<Outcome<{ packed: number }>> {
    const closed = this.#world ? this.#world.closed() : newerSchema()
    if (closed) return closed
    return { ok: true, packed: (await this.#bytes?.flush()) ?? 0 }
  }

  async unneededKeys(keys: string[], before: number, act: boolean) {
    return this.#with((world) => ({ ok: true as const, keys: [...unneededKeys(world, keys, before, act)] }))
  }

  async expireUploads(before: number): Promise<Outcome<object>> {
    const closed = this.#world ? this.#world.closed() : newerSchema()
    if (closed) return closed
    await this.#bytes?.expire(before)
    return { ok: true }
  }

  // Leases

  async acquireLease(
    caller: Rpc.Caller,
    { holder, ttl, steal }: { holder: string; ttl: number; steal: boolean },
  ) {
    return this.#with((world) =>
      once(world, caller.idempotency, () => withVersion(world, acquire(world, holder, ttl, steal))),
    )
  }

  async renewLease(token: string, ttl: number | undefined) {
    return this.#with((world) => withVersion(world, renew(world, token, ttl)))
  }

  async releaseLease(token: string) {
    return this.#with((world) => withVersion(world, release(world, token)))
  }

  // The tail

  /** Opens a tail: a WebSocket that gets each commit. What it asks is in the headers, put there by the edge alone. */
  override async fetch(request: Request): Promise<Response> {
    const closed = this.#world ? this.#world.closed() : newerSchema()
    if (closed) return Response.json(closed, { status: 409 })
    const { after, chain, expires_at }: Rpc.TailRequest = JSON.parse(
      request.headers.get(Rpc.tailHeader) ?? '{}',
    )
    return this.#tail?.open(after, chain, expires_at) ?? new Response(null, { status: 500 })
  }

  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    if (message === 'ping') return
    socket.send(
      JSON.stringify({ event: 'error', data: fail('forbidden', 'a tail only tells; write over HTTP') }),
    )
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    // 1005 and 1006 say that there was no code; they cannot be sent.
    socket.close(code === 1005 || code === 1006 ? 1000 : code)
  }

  async revoked(ids: string[]): Promise<void> {
    this.#tail?.revoke(ids)
  }

  // Behind the answer

  override async alarm(): Promise<void> {
    const world = this.#world
    this.#alarmSet = false
    if (!world || world.state === 'new') return
    if (world.state === 'deleted') return this.#withdraw(world)
    const { expires_at } = world.identity
    if (expires_at !== null && expires_at <= Date.now()) {
      await this.destroy()
      return
    }
    let delivery = outboxHolds(world) ? await deliver(world, this.env.CATALOG) : 'done'
    if ((await this.#bytes?.work()) === 'failed') delivery = 'failed'
    this.#failures = delivery === 'failed' ? this.#failures + 1 : 0
    if (delivery === 'done' && world.state === 'live') this.#tidy(world)
    await this.#rearm(delivery)
  }

  /** Forgets old answers, at most once an hour: finding them reads all there are. */
  #tidy(world: World): void {
    const now = Date.now()
    if (now - this.#tidied < 3_600_000) return
    if (!forgetAnswers(world, now)) this.#tidied = now
  }

  async #withdraw(world: World): Promise<void> {
    const buried: { fleet: string; session: string } = JSON.parse(world.meta('deleted') ?? '{}')
    let delivery = await withdraw(this.env.CATALOG, buried.fleet, buried.session)
    try {
      if (await this.#bytes?.handBack(buried.fleet, buried.session)) delivery = 'more'
    } catch {
      delivery = 'failed'
    }
    this.#failures = delivery === 'failed' ? this.#failures + 1 : 0
    if (delivery !== 'done') await this.ctx.storage.setAlarm(Date.now() + this.#pause(delivery))
  }

  /** The next alarm: soon while the catalog lacks something, at the session's end otherwise, and none when it has none. */
  async #rearm(delivery: 'done' | 'more' | 'failed'): Promise<void> {
    const world = this.#world
    if (!world || this.#alarmSet) return
    if (world.state === 'deleted' || delivery !== 'done' || outboxHolds(world)) {
      this.#alarmSet = true
      await this.ctx.storage.setAlarm(Date.now() + this.#pause(delivery))
      return
    }
    const dues = [world.identity.expires_at, this.#bytes?.due() ?? null].filter((due) => due !== null)
    // A moment later at least: an alarm set for now, from within an alarm, may not come.
    if (dues.length > 0)
      await this.ctx.storage.setAlarm(Math.max(Math.min(...dues), Date.now() + projectionDelay))
  }

  #pause(delivery: 'done' | 'more' | 'failed'): number {
    if (delivery !== 'failed') return projectionDelay
    return retryDelays[Math.min(this.#failures, retryDelays.length) - 1] ?? projectionDelay
  }

  /** In the same step as the write, so that both become durable together. */
  #schedule(): void {
    if (this.#alarmSet) return
    this.#alarmSet = true
    this.ctx.storage.setAlarm(Date.now() + projectionDelay)
  }

  /** A write that makes no version still needs the lease. */
  #write<T extends { ok: true }>(caller: Rpc.Caller, act: (world: World) => T | Failure): T | Failure {
    return this.#with((world) => {
      const admitted = admit(world, caller.lease)
      return 'code' in admitted ? admitted : act(world)
    })
  }

  /** Every method's door: a session that is not there, was deleted or has expired answers so, whatever is asked. */
  #with<T extends { ok: true }>(act: (world: World) => T | Failure): T | Failure {
    const world = this.#world
    if (!world) return newerSchema()
    return world.closed() ?? act(world)
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

function newerSchema(): Failure {
  return fail('unavailable', 'this session was written by a newer version of Lares', { retry_after: 60 })
}

function withVersion<T extends object>(world: World, outcome: Outcome<T>): Outcome<T & { version: number }> {
  return outcome.ok ? { ...outcome, version: world.head.version } : outcome
}
