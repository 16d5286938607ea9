// A session's beginning, what is said about it, and its end.

import { ulid } from 'ulid'
import { type Failure, fail, type Outcome } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import { mergePatch } from '../protocol/merge-patch.ts'
import type { SessionPatch, SessionShown } from '../protocol/resources.ts'
import { leaseEnd, leaseLives } from './lease.ts'
import { liveMemories } from './recall/count.ts'
import type { SessionInit } from './rpc.ts'
import { rfc3339 } from './time.ts'
import type { Identity, World } from './world.ts'

/** Makes the session, or finds it there: then nothing about it changes. */
export function found(world: World, init: SessionInit, digestSecret: string): { created: boolean } | Failure {
  if (world.state === 'staged') return beingImported()
  if (world.state !== 'new') return world.closed() ?? { created: false }
  const now = Date.now()
  world.found(
    {
      fleet: init.fleet,
      session: init.session,
      title: init.title ?? null,
      labels: init.labels ?? {},
      created_at: now,
      updated_at: now,
      expires_at: init.expires_in === undefined ? null : now + init.expires_in * 1000,
      retention: { versions: null, days: null },
      origin: null,
      ancestry: [],
      family: ulid().toLowerCase(),
      floor: 0,
    },
    digestSecret,
  )
  return { created: true }
}

/** A name under which a world is being taken in is not free, and there is nothing under it yet. */
export function beingImported(): Failure {
  return fail('in_flight', 'a world is being imported under this name')
}

export function show(world: World): SessionShown {
  const { identity, head, lease } = world
  const { counts } = head
  return {
    session: identity.session,
    version: head.version,
    digest: head.digest,
    title: identity.title,
    labels: identity.labels,
    created_at: rfc3339(identity.created_at),
    updated_at: rfc3339(updatedAt(world)),
    expires_at: identity.expires_at === null ? null : rfc3339(identity.expires_at),
    retention: identity.retention,
    origin: identity.origin,
    lease:
      leaseLives(world) && lease.holder !== null
        ? { holder: lease.holder, epoch: lease.epoch, expires_at: rfc3339(leaseEnd(world)) }
        : null,
    counts: {
      events: head.seq,
      state: counts.states,
      memories: liveMemories(world),
      files: counts.files,
      rows: counts.rows,
    },
    bytes: counts.bytes,
  }
}

export function updatedAt({ identity, head }: World): number {
  return Math.max(identity.updated_at, head.at)
}

export function patchIdentity(world: World, patch: SessionPatch): Outcome<object> {
  const { identity } = world
  const now = Date.now()
  // Always later, because the outbox tells a changed row by it.
  const next: Identity = { ...identity, updated_at: Math.max(now, identity.updated_at + 1) }
  if (patch.title !== undefined) next.title = patch.title
  if (patch.labels !== undefined) {
    // A merge of text members into text members holds text members.
    next.labels =
      patch.labels === null
        ? {}
        : (mergePatch(identity.labels, definedOnly(patch.labels)) as Record<string, string>)
  }
  if (Object.keys(next.labels).length > limits.labels) {
    return fail('invalid', `at most ${limits.labels} labels`, { pointer: '/labels' })
  }
  if (patch.expires_in !== undefined)
    next.expires_at = patch.expires_in === null ? null : now + patch.expires_in * 1000
  if (patch.retention !== undefined) {
    const { versions, days } = patch.retention ?? { versions: null, days: null }
    next.retention = {
      versions: versions === undefined ? identity.retention.versions : versions,
      days: days === undefined ? identity.retention.days : days,
    }
  }
  world.saveIdentity(next)
  return { ok: true }
}

function definedOnly(labels: Record<string, string | null>): Record<string, string | null> {
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== undefined))
}
