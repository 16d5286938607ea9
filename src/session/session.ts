// The Session object: one agent's world. It owns the versions and serialises the writes; each method is one synchronous step
// over the world, so that no other request can come between a check and the write it guards.

import { fail, type Outcome } from '../protocol/errors.ts'
import type { SessionPatch, SessionShown } from '../protocol/resources.ts'
import { once } from './answers.ts'
import { commit } from './commit.ts'
import { listCommits, readCommit } from './history.ts'
import { acquire, admit, prolong, release, renew } from './lease.ts'
import { found, patchIdentity, show } from './lifecycle.ts'
import { newerSchema } from './object.ts'
import { listEntries, readEntry } from './read-entries.ts'
import { listLog, pending, readEvent } from './read-log.ts'
import { MemoryMethods } from './recall/methods.ts'
import * as Rpc from './rpc.ts'
import type { World } from './world.ts'

export class Session extends MemoryMethods implements Rpc.SessionRpc {
  // Lifecycle

  async create(caller: Rpc.Caller, init: Rpc.SessionInit) {
    const world = this.world
    if (!world) return newerSchema()
    const founded = found(world, init, this.env.LARES_DIGEST_SECRET)
    if ('code' in founded) return founded
    if (founded.created) this.schedule()
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
    return this.atOnce((world) => ({ ok: true as const, version: world.head.version, session: show(world) }))
  }

  async patch(caller: Rpc.Caller, patch: SessionPatch) {
    return this.with((world) => {
      const admitted = admit(world, caller.lease)
      if ('code' in admitted) return admitted
      return once<{ version: number; session: SessionShown }>(world, caller.idempotency, () => {
        const patched = patchIdentity(world, patch)
        if (!patched.ok) return patched
        if (admitted.held) prolong(world)
        this.schedule()
        return { ok: true, version: world.head.version, session: show(world) }
      })
    })
  }

  async destroy(): Promise<Outcome<object>> {
    const world = this.world
    if (!world) return newerSchema()
    if (world.state === 'deleted') return { ok: true }
    if (world.state !== 'live') return fail('not_found', 'no such session')
    this.end()
    return { ok: true }
  }

  // Writing

  async commit(caller: Rpc.Caller, request: Rpc.CommitRequest) {
    const act = this.committing((world) => commit(world, caller, request))
    // Vectors of one session are of one size, which the index knows.
    if (request.ops.some((op) => op.op.startsWith('memory.'))) return this.indexed(act)
    return request.ops.every(needsNoRows) ? this.atOnce(act) : this.with(act)
  }

  // Reading

  async listCommits(query: Rpc.CommitQuery) {
    return this.with((world) => listCommits(world, query))
  }

  async readCommit(version: number, from = 0) {
    return this.with((world) => readCommit(world, version, from))
  }

  async listLog(query: Rpc.LogQuery) {
    return this.with((world) => listLog(world, query))
  }

  async readEvent(seq: number, at: Rpc.At) {
    return this.with((world) => readEvent(world, seq, at))
  }

  async pending(query: Rpc.PageQuery) {
    return this.with((world) => pending(world, query))
  }

  async readEntry(kind: 'state' | 'file', key: string, at: Rpc.At) {
    const { forks } = this
    return this.atOnce((world) =>
      forks?.pending ? forks.entryFromParent(kind, key, at) : readEntry(world, kind, key, at),
    )
  }

  async listEntries(kind: 'state' | 'file', query: Rpc.EntryQuery) {
    return this.with((world) => listEntries(world, kind, query))
  }

  // Leases

  async acquireLease(
    caller: Rpc.Caller,
    { holder, ttl, steal }: { holder: string; ttl: number; steal: boolean },
  ) {
    return this.atOnce((world) =>
      once(world, caller.idempotency, () => withVersion(world, acquire(world, holder, ttl, steal))),
    )
  }

  async renewLease(token: string, ttl: number | undefined) {
    return this.atOnce((world) => withVersion(world, renew(world, token, ttl)))
  }

  async releaseLease(token: string) {
    return this.atOnce((world) => withVersion(world, release(world, token)))
  }

  // The tail

  /** Opens a tail: a WebSocket that gets each commit. What it asks is in the headers, put there by the edge alone. */
  override async fetch(request: Request): Promise<Response> {
    const closed = this.world ? this.world.closed() : newerSchema()
    if (closed) return Response.json(closed, { status: 409 })
    const { after, chain, expires_at }: Rpc.TailRequest = JSON.parse(
      request.headers.get(Rpc.tailHeader) ?? '{}',
    )
    return this.tail?.open(after, chain, expires_at) ?? new Response(null, { status: 500 })
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
    this.tail?.revoke(ids)
  }
}

/** A plain event stands on nothing that came before it, so a fork can take it before it has its parent's rows. */
function needsNoRows(op: Rpc.WireOperation): boolean {
  return (
    op.op === 'log.append' && op.key === undefined && op.parent === undefined && op.type !== 'tool_result'
  )
}

function withVersion<T extends object>(world: World, outcome: Outcome<T>): Outcome<T & { version: number }> {
  return outcome.ok ? { ...outcome, version: world.head.version } : outcome
}
