// The language of time: snapshots, forks, revert, merge.

import { z } from 'zod'
import { limits } from './limits.ts'
import { labels, ref, sessionId, text, version } from './values.ts'

export const snapshotName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, 'a snapshot is named [A-Za-z0-9][A-Za-z0-9._-]{0,127}')

/** A version as a number, or anything that `at=` takes: a time, or `snap:NAME`. */
export const point = z.union([version, z.string().min(1).max(300)])

export const entryKinds = ['log', 'state', 'file', 'memory', 'table', 'row', 'view'] as const
export const kinds = z.array(z.enum(entryKinds)).min(1).max(entryKinds.length)

const message = text(limits.messageChars).optional()

export const snapshotBody = z.strictObject({ name: snapshotName, at: point.optional(), message })

/** The snapshot of which a lost session is made again. */
export const restoreBody = z.strictObject({ snapshot: snapshotName })

export const forkBody = z.strictObject({
  session: sessionId.optional(),
  at: point.optional(),
  title: text(limits.titleChars).optional(),
  labels: labels.optional(),
})

export const revertBody = z.strictObject({
  to: point,
  kinds: kinds.optional(),
  prefix: text(limits.pathBytes).optional(),
  message,
  expect: version.optional(),
})

export const mergeBody = z.strictObject({
  from: sessionId,
  strategy: z.enum(['fail', 'ours', 'theirs']).default('fail'),
  dry_run: z.boolean().default(false),
  choices: z.record(z.string(), z.enum(['ours', 'theirs'])).default({}),
  message,
})

export const eraseBody = z.strictObject({ refs: z.array(ref).min(1).max(limits.ops), message })

export const verifiedShown = z
  .object({
    ok: z.boolean(),
    root: z.string(),
    digest: z.string(),
    checked: z.int(),
    erased: z.int(),
    problems: z.array(z.object({ ref: z.string(), problem: z.string() })),
    next: z.string().nullable(),
  })
  .meta({ id: 'Verified' })

export const erasedShown = z.object({ version, erased: z.int() }).meta({ id: 'Erased' })

const time = z.string().meta({ description: 'RFC 3339, UTC, milliseconds' })
const hex = z.string().meta({ description: 'SHA-256, lowercase hex' })

export const snapshotShown = z
  .object({
    name: z.string(),
    version,
    root: hex,
    entries: z.int(),
    events: z.int(),
    bytes: z.int(),
    pages_written: z.int(),
    created_at: time,
    message: z.string().nullable(),
  })
  .meta({ id: 'Snapshot' })

export const snapshotObjectShown = z
  .object({
    kind: z.enum(['manifest', 'page', 'blob']),
    ref: z.string().optional(),
    r2_key: z.string(),
    sha256: hex,
    size: z.int(),
    offset: z.int().optional(),
  })
  .meta({ id: 'SnapshotObject' })

export const forkShown = z
  .object({ session: sessionId, origin: z.object({ session: sessionId, version }), version })
  .meta({ id: 'Fork' })

export const hunk = z.object({
  before_start: z.int(),
  before_lines: z.int(),
  after_start: z.int(),
  after_lines: z.int(),
  lines: z.array(z.string()),
})

export const differenceShown = z
  .object({
    ref: z.string(),
    change: z.enum(['added', 'changed', 'removed']),
    before: z.unknown().optional(),
    after: z.unknown().optional(),
    hunks: z.array(hunk).optional(),
  })
  .meta({ id: 'Difference' })

export const conflictShown = z.object({
  ref: z.string(),
  base: hex.nullable(),
  ours: hex.nullable(),
  theirs: hex.nullable(),
})

export const mergedShown = z
  .object({
    version,
    at: time,
    digest: hex,
    applied: z.int(),
    conflicts: z
      .array(conflictShown)
      .meta({ description: 'Everything that both sides changed, decided or not' }),
  })
  .meta({ id: 'Merged' })
