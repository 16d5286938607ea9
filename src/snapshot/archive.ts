// The archive: a whole world as one tar, with a member for each page and blob and, when asked for, its whole history. This is its
// language: which members there are, in which order, and what their lines say. docs/archive.md is this file in words.

import { z } from 'zod'
import { limits } from '../protocol/limits.ts'
import { lane } from '../protocol/ops.ts'
import type { RefKind } from '../protocol/refs.ts'
import { jsonValue, seq, sessionId, sha256, text, version } from '../protocol/values.ts'

export const archiveFormat = 1

export const archiveType = 'application/x-tar'

/** Members, in the order in which they come: each group whole before the next; a page is followed by its rows. */
export const members = {
  head: 'lares.json',
  manifest: 'manifest.json',
  blob: (digest: string) => `blobs/${digest}`,
  page: (name: string) => `pages/${name}`,
  rows: (name: string) => `rows/${name}.jsonl`,
  past: (part: number) => `journal/past-${numbered(part)}.jsonl`,
  commits: (part: number) => `journal/commits-${numbered(part)}.jsonl`,
  end: 'end.json',
} as const

function numbered(part: number): string {
  return String(part).padStart(8, '0')
}

/** What a member that is held in memory may have, in bytes: a page of values that nearly all need escaping fits. */
export const memberBytes = 32 * 1024 * 1024
/** About how much one part of the journal holds. */
export const partChars = 2 * 1024 * 1024

const instant = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, 'not a time in UTC with milliseconds')
  .refine((at) => !Number.isNaN(Date.parse(at)), 'not a time')

const actor = text(512).min(1)
const cause = jsonValue(limits.causeBytes)
const whole = z.int().min(0)
const salt = z.string().regex(/^([0-9a-f]{32})?$/, 'not a salt')
const labels = z
  .record(text(limits.labelChars).min(1), text(limits.labelChars))
  .refine((all) => Object.keys(all).length <= limits.labels, `at most ${limits.labels} labels`)

/** `lares.json`. */
export const archiveHead = z.strictObject({
  lares: z.literal(archiveFormat, 'not an archive of this format'),
  session: sessionId,
  version,
  /** Of the commit at `version`. */
  digest: sha256,
  root: sha256,
  title: text(limits.titleChars).nullable(),
  labels,
  created_at: instant,
  updated_at: instant,
  /** The commit at `version`; null for an empty world. */
  commit: z
    .strictObject({
      at: instant,
      actor,
      message: text(limits.messageChars).nullable(),
      cause: cause.nullable(),
    })
    .nullable(),
  /** The oldest version there is a journal of; what lies before it the session never had. */
  floor: version,
  /** Versions before this one are not kept. */
  pruned: version,
  journal: z.boolean(),
  entries: whole,
  events: whole,
})
export type ArchiveHead = z.output<typeof archiveHead>

/** `end.json`: an archive without it was cut off. */
export const archiveEnd = z.strictObject({
  members: whole,
  blobs: whole,
  pages: whole,
  past: whole,
  commits: whole,
  /** Over a line `NAME DIGEST\n` of each member before this one. */
  sha256,
})
export type ArchiveEnd = z.output<typeof archiveEnd>

/** A line beside each event of a page: what its digest does not cover. */
export const eventLine = z.strictObject({
  version: z.int().min(1),
  at: instant,
  actor,
  /** Where a merge found it. */
  origin: z.strictObject({ session: sessionId, seq }).optional(),
  /** The event to which this one cuts the log back. */
  cut: whole.optional(),
  /** Only of an erased event: what is left of it. */
  type: text(limits.eventType).min(1).optional(),
  lane: lane.optional(),
  parent: seq.optional(),
})
export type EventLine = z.output<typeof eventLine>

/** A line beside each entry of a page, when there is a journal. */
export const entryLine = z.strictObject({ since: z.int().min(1) })
export type EntryLine = z.output<typeof entryLine>

/** What an entry was, from one version until another. */
export const pastLine = z.strictObject({
  kind: z.enum(['state', 'file', 'memory', 'row', 'table', 'view']),
  key: z.string(),
  since: z.int().min(1),
  until: z.int().min(1),
  digest: sha256,
  salt,
  text: z.string().nullable(),
  blob: sha256.nullable(),
  size: whole,
  from: z.array(z.string()).max(limits.from).nullable(),
})
export type PastLine = z.output<typeof pastLine>

const change = z.union([
  z.tuple([z.string(), z.string(), sha256.nullable()]),
  z.tuple([z.string(), z.string(), sha256.nullable(), z.array(z.string())]),
])

/** A commit. Its changes may go on in lines of their own. */
export const commitLine = z.strictObject({
  version: z.int().min(1),
  at: instant,
  actor,
  message: text(limits.messageChars).nullable(),
  cause: cause.nullable(),
  digest: sha256,
  /** The newest event. */
  seq: whole,
  states: whole,
  files: whole,
  memories: whole,
  rows: whole,
  bytes: whole,
  changes: z.array(change),
})
export type CommitLine = z.output<typeof commitLine>

export const moreLine = z.strictObject({ more: z.int().min(1), changes: z.array(change).min(1) })
export type MoreLine = z.output<typeof moreLine>

/** The kinds of entries, in the order of a manifest. */
export const pastKinds = ['file', 'memory', 'row', 'state', 'table', 'view'] as const satisfies RefKind[]
