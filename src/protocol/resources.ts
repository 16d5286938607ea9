// The resources of the API beside operations: what their requests hold and what their answers look like.

import { z } from 'zod'
import { type ErrorCode, errors } from './errors.ts'
import { limits } from './limits.ts'
import { commitBody, eventFields, fileMode, lane, withCall } from './ops.ts'
import { conflictShown } from './time.ts'
import { fleetName, labels, noProto, seq, sessionId, sha256, text, version } from './values.ts'

// Sessions

const title = text(limits.titleChars)
const expiresIn = z.int().min(1).max(limits.expiresSeconds)

export const locationHints = ['wnam', 'enam', 'sam', 'weur', 'eeur', 'apac', 'oc', 'afr', 'me'] as const

export const sessionCreate = z.strictObject({
  title: title.optional(),
  labels: labels.optional(),
  location: z.enum(locationHints).optional(),
  expires_in: expiresIn.optional(),
})
export type SessionCreate = z.output<typeof sessionCreate>

/** RFC 7396: null takes a member away. */
export const sessionPatch = z.strictObject({
  title: title.nullable().optional(),
  labels: noProto
    .pipe(z.record(text(limits.labelChars).min(1), text(limits.labelChars).nullable()))
    .nullable()
    .optional(),
  expires_in: expiresIn.nullable().optional(),
  retention: z
    .strictObject({
      versions: z.int().min(1).nullable().optional(),
      days: z.int().min(1).nullable().optional(),
    })
    .nullable()
    .optional(),
})
export type SessionPatch = z.output<typeof sessionPatch>

const time = z
  .string()
  .meta({ description: 'RFC 3339, UTC, milliseconds', example: '2026-12-01T08:00:00.000Z' })
const hex = z.string().meta({ description: 'SHA-256, lowercase hex' })
const corrupt = z
  .literal(true)
  .optional()
  .meta({ description: 'The stored value does not read back; null stands in its place' })
const erased = z.literal(true).optional().meta({ description: 'The value was erased' })

export const leaseShown = z.object({ holder: z.string(), epoch: z.int(), expires_at: time })

export const sessionShown = z
  .object({
    session: sessionId,
    version,
    digest: hex,
    title: z.string().nullable(),
    labels: z.record(z.string(), z.string()),
    created_at: time,
    updated_at: time,
    expires_at: time.nullable(),
    retention: z.object({ versions: z.int().nullable(), days: z.int().nullable() }),
    origin: z.object({ session: sessionId, version }).nullable(),
    lease: leaseShown.nullable(),
    counts: z.object({ events: z.int(), state: z.int(), memories: z.int(), files: z.int(), rows: z.int() }),
    bytes: z.int(),
  })
  .meta({ id: 'Session' })
export type SessionShown = z.output<typeof sessionShown>

export const sessionListed = z
  .object({
    session: sessionId,
    version,
    projected_version: version,
    title: z.string().nullable(),
    labels: z.record(z.string(), z.string()),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'SessionListed' })
export type SessionListed = z.output<typeof sessionListed>

// Commits and the log

export const commitShown = z
  .object({
    version,
    at: time,
    digest: hex,
    results: z.array(z.record(z.string(), z.unknown())),
  })
  .meta({ id: 'Commit' })
export type CommitShown = z.output<typeof commitShown>

export const commitListed = z
  .object({
    version,
    at: time,
    actor: z.string(),
    message: z.string().nullable(),
    cause: z.unknown(),
    digest: hex,
    ops: z.array(z.object({ op: z.string(), ref: z.string() })),
    ops_more: z
      .literal(true)
      .optional()
      .meta({ description: 'The commit has more operations than are listed' }),
  })
  .meta({ id: 'CommitListed' })

const changeInFull = z.object({
  op: z.string(),
  ref: z.string(),
  digest: hex.nullable().meta({ description: 'Null where the value was taken away' }),
  from: z.array(z.string()).optional(),
  salt: z.string().optional().meta({ description: 'Hex; with the value it gives the digest' }),
  value: z.unknown().optional(),
  erased,
})

/** A commit with everything that its digest covers. */
export const commitInFull = commitListed
  .omit({ ops: true, ops_more: true })
  .extend({ previous: hex, ops: z.array(changeInFull) })
  .meta({ id: 'CommitInFull' })

/** A commit of one of a fleet's sessions, from the catalog. */
export const fleetCommit = commitListed
  .extend({
    session: sessionId,
    projected_version: version,
  })
  .meta({ id: 'FleetCommit' })

const oneEvent = z.strictObject(eventFields).transform(withCall)
/** One event, or a batch that becomes one commit. */
export const logBody = z.union([
  z.strictObject({ events: z.array(oneEvent).min(1).max(limits.ops) }),
  oneEvent,
])

export const eventShown = z
  .object({
    seq,
    version,
    at: time,
    actor: z.string(),
    type: z.string(),
    lane,
    payload: z.unknown(),
    key: z.string().optional(),
    parent: seq.optional(),
    from: z.array(z.string()).optional(),
    origin: z.object({ session: sessionId, seq }).optional().meta({ description: 'Where a merge found it' }),
    corrupt,
    erased,
  })
  .meta({ id: 'Event' })

export const eventAppended = eventShown
  .omit({ payload: true, from: true, origin: true, corrupt: true, erased: true })
  .meta({ id: 'EventAppended' })

export const logAppended = z
  .object({ version, at: time, digest: hex, events: z.array(eventAppended) })
  .meta({ id: 'LogAppended' })

// State and files

export const stateShown = z
  .object({ key: z.string(), value: z.unknown(), since: version, corrupt, erased })
  .meta({ id: 'StateEntry' })

export const fileShown = z
  .object({
    path: z.string(),
    blob: sha256,
    size: z.int(),
    type: z.string(),
    mode: fileMode,
    mtime: z.string().nullable(),
    meta: z.unknown().optional(),
    since: version,
  })
  .meta({ id: 'File' })

/** What a delimiter rolls up. */
export const prefixShown = z.object({ prefix: z.string() }).meta({ id: 'Prefix' })

export const blobShown = z.object({ blob: sha256, size: z.int() }).meta({ id: 'Blob' })

export const filePutShown = fileShown
  .omit({ since: true, meta: true })
  .extend({ version })
  .meta({ id: 'FilePut' })

export const written = z.object({ version, at: time, digest: hex }).meta({ id: 'Written' })

// Leases

export const leaseBody = z.strictObject({
  holder: text(limits.holderChars).min(1),
  ttl: z.int().min(1).max(limits.leaseSeconds),
  steal: z.boolean().optional(),
})
export const leaseRenew = z.strictObject({ ttl: z.int().min(1).max(limits.leaseSeconds).optional() })
export const leaseGranted = z
  .object({ epoch: z.int(), token: z.string(), expires_at: time })
  .meta({ id: 'Lease' })

// Keys and tokens

export const tokenBody = z.strictObject({
  session: sessionId.optional(),
  pattern: z.string().min(1).max(128).optional(),
  scopes: z
    .array(text(limits.pathBytes + 6).min(1))
    .min(1)
    .max(64),
  expires_in: z.int().min(1).max(2_592_000),
})
export const tokenGranted = z
  .object({ token: z.string(), id: z.string(), expires_at: time })
  .meta({ id: 'Token' })
export const keyBody = z.strictObject({ label: text(limits.titleChars).optional() })
export const keyGranted = z.object({ key: z.string(), id: z.string() }).meta({ id: 'Key' })
export const fleetShown = z.object({ fleet: fleetName }).meta({ id: 'Fleet' })

// Errors

// The keys of the table are its codes.
const codes = Object.keys(errors) as [ErrorCode, ...ErrorCode[]]

/** RFC 9457 `application/problem+json`. */
export const problem = z
  .object({
    type: z.string().meta({ description: '`urn:lares:error:` and the code' }),
    title: z.string(),
    status: z.int(),
    code: z.enum(codes),
    detail: z.string(),
    pointer: z
      .string()
      .optional()
      .meta({ description: 'JSON Pointer into the body, or the name of a header or query parameter' }),
    head: version.optional().meta({ description: 'The session’s head version' }),
    epoch: z.int().optional().meta({ description: 'The current lease epoch' }),
    limit: z.int().optional().meta({ description: 'The limit that was passed' }),
    seq: seq.optional().meta({ description: 'The event that already has the correlation key' }),
    retry_after: z.int().optional().meta({ description: 'Seconds to wait before trying again' }),
    conflicts: z
      .array(conflictShown)
      .optional()
      .meta({ description: 'What both sides of a merge changed: digests, null for absent' }),
  })
  .meta({ id: 'Problem' })

export { commitBody }
