// The RPC surface of a Session object: all that the edge knows of it. Every method answers an Outcome, and none throws
// for anything a caller did.

import type {
  Canonical,
  EntryKind,
  Operation,
  Outcome,
  SessionPatch,
  SessionShown,
} from '../protocol/index.ts'
import type { Item, PageRef } from '../snapshot/page.ts'
import type { ArchiveRpc } from './archive-rpc.ts'
import type { BlobRpc, NewBlob, Place } from './blob-rpc.ts'
import type { Made } from './commit.ts'
import type { Embedding, MemoryRpc } from './memory-rpc.ts'
import type { TableRpc } from './tables/methods.ts'
import type { BlobRows } from './time/blob-rows.ts'
import type { DiffPage, DiffQuery } from './time/diff.ts'
import type { Erased, Target } from './time/erase.ts'
import type { ForkSeed, RowsPage, RowsQuery } from './time/fork.ts'
import type { Standing } from './time/forks.ts'
import type { Merged, MergeRequest } from './time/merge.ts'
import type { MergeChange, MergeEvent, MergeSource } from './time/merge-source.ts'
import type { SnapshotObject } from './time/objects.ts'
import type { RevertRequest } from './time/revert.ts'
import type { SnapshotRequest, SnapshotShown } from './time/snapshot.ts'

export type { Shown } from './tables/read.ts'
export type { DiffItem } from './time/diff.ts'

/** A value too large for a row: its bytes are in R2 before it is named here. */
export interface Spilled {
  blob: string
  size: number
  salt: Uint8Array
  digest: Uint8Array
}

/** A JSON value on its way into the object. */
export type Value = Canonical | Spilled

/** Bytes in R2: of an object of their own, or of a pack. */
export interface Stretch {
  key: string
  start: number
  size: number
}

/** JSON text, or the name of a blob that holds a value's canonical text; a list of pieces, joined, is JSON. */
export type Piece = string | { blob: string; size: number; place: Stretch | null }

/** Who asks, as far as the object must know. The edge has checked that they may. */
export interface Caller {
  actor: string
  /** The lease token presented, if any. */
  lease?: string
  idempotency?: Idempotency
  /** The folders whose files they may read, when that is not all there is. */
  within?: readonly string[]
}

export interface Idempotency {
  /** Route and key: the same key on another route is another key. */
  key: string
  /** SHA-256 of what was asked. */
  request: Uint8Array
}

/** A point in a world's history. */
export type At = { version: number } | { time: number } | { snapshot: string } | null

type Spill<T, K extends string> = T extends Record<K, Canonical> ? Omit<T, K> & Record<K, Value> : T
/** An operation as it crosses to the object: a large value has been moved to R2. */
export type WireOperation = Spill<Spill<Operation, 'value'>, 'payload'> & {
  /** The caller needs the entry to be there: its absence is `not_found` and nothing is written. */
  must?: true
  /** Condition by digest, for `If-Match`. */
  match?: string
  /** Of a patch that the edge has applied because the value is large: what came out, and the digest of what it was made of. */
  patched?: { base: string | null; value: Value }
  /** The vector that the edge made of a memory's text. */
  embedding?: Embedding
}

export interface CommitRequest {
  ops: WireOperation[]
  message?: string | undefined
  cause?: Canonical | undefined
  expect?: number | undefined
  /** Blobs this caller has just put in R2, which the operations may name. */
  blobs?: NewBlob[]
}

export interface Committed {
  version: number
  /** RFC 3339. */
  at: string
  digest: string
  results: Record<string, unknown>[]
  /** Indexes of the operations that made an entry where none was. */
  created: number[]
}

export interface EntryRead {
  version: number
  key: string
  since: number
  digest: string
  value: Piece
  size: number
  /** Where the bytes of a file are. */
  place?: Place
}

export interface PageRead {
  version: number
  /** Joined: the items, separated by commas. */
  items: Piece[]
  /** Where the next page begins, or null. */
  next: string | number | null
}

export interface PageQuery {
  at: At
  limit: number
  /** The last key or number of the page before. */
  cursor: string | number | null
}

export interface LogQuery extends PageQuery {
  after: number | null
  before: number | null
  order: 'asc' | 'desc'
  type: string | null
  lane: string | null
  view: 'active' | 'all'
}

export interface EntryQuery extends PageQuery {
  prefix: string
  delimiter: string | null
  /** Only keys below one of these; null means all. */
  within: readonly string[] | null
}

/** A commit in full, or a part of one that is too long for one answer. */
export interface CommitPart {
  version: number
  digest: string
  /** The parts, joined, are the commit as JSON. */
  commit: Piece[]
  /** The change with which the next part begins, or null. */
  next: number | null
}

export interface CommitQuery {
  limit: number
  cursor: string | number | null
  after: number | null
  before: number | null
  order: 'asc' | 'desc'
}

export interface LeaseGrant {
  epoch: number
  token: string
  expires_at: string
}

export interface SessionInit {
  fleet: string
  session: string
  title?: string | undefined
  labels?: Record<string, string> | undefined
  expires_in?: number | undefined
}

export interface ForkInit {
  fleet: string
  session: string
  title?: string | undefined
  labels?: Record<string, string> | undefined
}

/** A Session object as the edge holds it: these methods, and `fetch` for the tail's WebSocket. */
export interface SessionStub extends SessionRpc, TimeRpc, ArchiveRpc, TableRpc, MemoryRpc {
  fetch(url: string, init: RequestInit): Promise<Response>
}

export interface SessionRpc extends BlobRpc {
  create(
    caller: Caller,
    init: SessionInit,
  ): Promise<Outcome<{ created: boolean; version: number; session: SessionShown }>>
  describe(): Promise<Outcome<{ version: number; session: SessionShown }>>
  patch(caller: Caller, patch: SessionPatch): Promise<Outcome<{ version: number; session: SessionShown }>>
  destroy(): Promise<Outcome<object>>

  commit(caller: Caller, request: CommitRequest): Promise<Outcome<Committed>>
  listCommits(query: CommitQuery): Promise<Outcome<PageRead>>
  readCommit(version: number, from?: number): Promise<Outcome<CommitPart>>

  listLog(query: LogQuery): Promise<Outcome<PageRead>>
  readEvent(
    seq: number,
    at: At,
  ): Promise<Outcome<{ version: number; since: number; digest: string; event: Piece[] }>>
  pending(query: PageQuery): Promise<Outcome<PageRead>>

  readEntry(kind: 'state' | 'file', key: string, at: At): Promise<Outcome<EntryRead>>
  listEntries(kind: 'state' | 'file', query: EntryQuery): Promise<Outcome<PageRead>>

  acquireLease(
    caller: Caller,
    request: { holder: string; ttl: number; steal: boolean },
  ): Promise<Outcome<LeaseGrant & { version: number }>>
  renewLease(token: string, ttl: number | undefined): Promise<Outcome<LeaseGrant & { version: number }>>
  releaseLease(token: string): Promise<Outcome<{ version: number }>>

  /** Closes live tails of these keys and tokens. */
  revoked(ids: string[]): Promise<void>
}

/** Carries the edge's question for a tail; the edge strips it from what clients send. */
export const tailHeader = 'lares-tail'

export interface TailRequest {
  after: number | 'head' | null
  chain: string[]
  expires_at: number | null
}

/** What verification goes through, one after the other. */
export const verifyPhases = ['commits', 'events', 'entries', 'past', 'blobs', 'snapshots'] as const
export type VerifyPhase = (typeof verifyPhases)[number]

export interface VerifyCursor {
  phase: VerifyPhase
  after: (string | number)[]
}

export interface Found {
  ref: string
  problem: string
}

export interface VerifyStep {
  checked: number
  erased: number
  problems: Found[]
  /** Null at the end. */
  next: VerifyCursor | null
}

/** Snapshots, forks, diff, revert and merge. */
export interface TimeRpc {
  snapshot(caller: Caller, request: SnapshotRequest): Promise<Outcome<SnapshotShown>>
  listSnapshots(
    after: string | null,
    limit: number,
  ): Promise<Outcome<{ version: number; items: SnapshotShown[]; next: string | null }>>
  readSnapshot(name: string): Promise<Outcome<SnapshotShown>>
  snapshotObjects(
    name: string,
    after: string | null,
    limit: number,
  ): Promise<Outcome<{ version: number; items: SnapshotObject[]; next: string | null }>>
  dropSnapshot(caller: Caller, name: string): Promise<Outcome<{ version: number }>>

  diff(query: DiffQuery): Promise<Outcome<DiffPage>>
  diffWith(other: string, query: DiffQuery): Promise<Outcome<DiffPage>>
  revert(caller: Caller, request: RevertRequest): Promise<Outcome<Made & { changed: number }>>
  merge(caller: Caller, request: MergeRequest): Promise<Outcome<Made & Merged>>

  verifyStep(cursor: VerifyCursor): Promise<Outcome<VerifyStep & { version: number }>>
  root(): Promise<Outcome<{ version: number; digest: string; root: string }>>
  eraseOwners(refs: string[]): Promise<Outcome<{ owners: { session: string; targets: Target[] }[] }>>
  erase(caller: Caller, targets: Target[], message?: string): Promise<Outcome<Made & Erased>>
  relayErase(caller: Caller, targets: Target[]): Promise<void>
  eraseInherited(caller: Caller, parent: string, targets: Target[]): Promise<void>

  beginFork(at: At, child: string): Promise<Outcome<ForkSeed>>
  adopt(
    caller: Caller,
    init: ForkInit,
    seed: ForkSeed,
  ): Promise<Outcome<{ version: number; session: SessionShown }>>

  // Between sessions of one fleet; these serve a deleted parent's rows too, until its children have them.
  forkRows(query: RowsQuery): Promise<RowsPage>
  forkBlobs(digests: string[]): Promise<BlobRows>
  forkEntry(kind: EntryKind, key: string, version: number): Promise<Outcome<EntryRead>>
  forkSettled(child: string): Promise<void>
  forkStanding(parent: string): Promise<Standing>
  mergeSource(): Promise<Outcome<MergeSource>>
  mergeChanges(
    base: number,
    version: number,
    after: string | null,
  ): Promise<Outcome<{ items: MergeChange[]; next: string | null }>>
  mergeEvents(
    base: number,
    version: number,
    after: number,
  ): Promise<Outcome<{ items: MergeEvent[]; next: number | null }>>
  pageList(at: At): Promise<Outcome<{ version: number; pages: PageRef[] }>>
  pageItems(page: PageRef, version: number): Promise<Item[]>
}
