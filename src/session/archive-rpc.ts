// The part of a Session's RPC surface that deals in whole worlds: read out piece by piece for an archive, and taken in piece by
// piece from one, unseen until the last.

import type { Canonical } from '../protocol/canonical.ts'
import type { Outcome } from '../protocol/errors.ts'
import type { EntryKind } from '../protocol/refs.ts'
import type { SessionShown } from '../protocol/resources.ts'
import type { ArchiveHead } from '../snapshot/archive.ts'
import type { PageRef } from '../snapshot/page.ts'
import type { LocatedBlob, NewBlob } from './blob-rpc.ts'
import type { At, Caller } from './rpc.ts'

/** An export that runs; every call of it names it. */
export interface ExportOf {
  head: ArchiveHead
  /** While it is named, retention leaves its version alone. */
  hold: string
  /** The newest version when it began. */
  began: number
}

/** Lines of a member, and where the next ones begin; null at the end. */
export interface Lines {
  text: string
  count: number
  next: SqlStorageValue[] | null
}

/** A page as it stands in an archive, and the lines beside it. */
export interface PageText {
  page: string
  /** Null where there are none. */
  rows: string | null
}

/** A value on its way into a world that is being taken in. */
export interface StagedValue {
  inputs: string | null
  text: string | null
  blob: string | null
  size: number
  salt: Uint8Array
  digest: Uint8Array
}

export interface StagedEntry extends StagedValue {
  kind: EntryKind
  key: string
  since: number
}

export interface StagedPast extends StagedEntry {
  until: number
}

export interface StagedEvent extends StagedValue {
  seq: number
  version: number
  at: number
  actor: string
  type: string
  lane: string
  key: string | null
  parent: number | null
  call: string | null
  origin: string | null
  cut: number | null
}

export interface StagedCommit {
  version: number
  at: number
  actor: string
  message: string | null
  cause: Canonical | null
  digest: Uint8Array
  seq: number
  states: number
  files: number
  memories: number
  rows: number
  bytes: number
  /** A JSON array of the journal's lines, or as many as a row takes. */
  changes: string
}

/** Further changes of a commit that came before. */
export interface StagedMore {
  version: number
  part: number
  changes: string
}

/** A part of a world, in the order in which parts must come: blobs before what names them. */
export type Part =
  | { blobs: NewBlob[] }
  | { entries: StagedEntry[] }
  | { events: StagedEvent[] }
  | { past: StagedPast[] }
  | { commits: StagedCommit[]; more: StagedMore[] }

/** What a world that was taken in is from then on. */
export interface Founding {
  fleet: string
  session: string
  title: string | null
  labels: Record<string, string>
  created_at: number
  updated_at: number
  expires_at: number | null
  origin: { session: string; version: number } | null
  ancestry: { session: string; version: number }[]
  /** Null for a family of its own. */
  family: string | null
  version: number
  /** Hex, of the commit at `version`. */
  digest: string
  floor: number
  pruned: number
  events: number
  entries: number
  /** The commit at `version`, where no journal brought it; null at version 0, and with a journal. */
  commit: { at: number; actor: string; message: string | null; cause: Canonical | null } | null
  /** True for a lost session that is made again of a snapshot, and not of an archive. */
  restored: boolean
  /** The last epoch of a lease that there can have been. */
  epoch: number
  /** Snapshots that the catalog knows of. */
  snapshots: FoundSnapshot[]
  /** Forks that the catalog knows of. */
  children: { session: string; version: number }[]
}

export interface FoundSnapshot {
  name: string
  version: number
  root: string
  entries: number
  events: number
  bytes: number
  pages: number
  created_at: number
  message: string | null
}

export interface ArchiveRpc {
  exportBegin(at: At, journal: boolean): Promise<Outcome<ExportOf & { pages: PageRef[] }>>
  /** Each blob that the world refers to, once, in the order in which they lie in R2. */
  exportBlobs(
    of: ExportOf,
    after: SqlStorageValue[] | null,
  ): Promise<Outcome<{ blobs: LocatedBlob[]; next: SqlStorageValue[] | null }>>
  /** As many of these pages, from the first on, as one call carries. */
  exportPages(of: ExportOf, pages: PageRef[]): Promise<Outcome<{ pages: PageText[] }>>
  exportPast(of: ExportOf, after: SqlStorageValue[] | null): Promise<Outcome<Lines>>
  exportCommits(of: ExportOf, after: SqlStorageValue[] | null): Promise<Outcome<Lines>>
  /** Refuses when what was read out may not be one world: something of it was pruned or erased meanwhile. */
  exportEnd(of: ExportOf): Promise<Outcome<object>>

  /**
   * Begins to take a world in. One that was begun before under this name, and not finished, is dropped.
   *
   * @param overEmpty a session in which nothing was ever written may be replaced
   * @returns `done` with the first answer, when this very request has been answered before
   */
  stageBegin(
    caller: Caller,
    stage: string,
    overEmpty?: boolean,
  ): Promise<Outcome<{ done: { version: number; session: SessionShown } | null }>>
  stagePart(stage: string, part: Part): Promise<Outcome<object>>
  /** Where these blobs of the world being taken in lie. */
  stagePlaces(stage: string, digests: string[]): Promise<Outcome<{ blobs: LocatedBlob[] }>>
  /** One bounded step of checking the journal against the rows; `next` is null at its end. */
  stageCheck(stage: string, founding: Founding, after: number): Promise<Outcome<{ next: number | null }>>
  /** Makes it a session, at once and for everyone. */
  stageEnd(
    caller: Caller,
    stage: string,
    founding: Founding,
  ): Promise<Outcome<{ version: number; session: SessionShown }>>
  /** Drops what was taken in. */
  stageDrop(stage: string): Promise<void>
}
