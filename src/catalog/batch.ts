// What a session's outbox hands to the catalog: whole commits, in order, with everything they did. All JSON travels as
// text, so that no number is rewritten on its way. Times are epoch milliseconds, digests lowercase hex.

/** A session's own facts, as its object has them at the moment the batch is made. */
export interface SessionRow {
  title: string | null
  labels: Record<string, string>
  created_at: number
  /** Not decreasing; moves with every commit and with every change of title, labels or expiry. */
  updated_at: number
  expires_at: number | null
  /** A fork's history begins after `origin.version`; any other's after 0. */
  origin: { session: string; version: number } | null
  head_version: number
  /** Hex digest of the head's commit. */
  digest: string
}

export interface CommitRow {
  version: number
  at: number
  actor: string
  message: string | null
  /** A JSON object as text. */
  cause: string | null
  digest: string
  /** The JSON text of `[{op, ref}, …]`. */
  ops: string
}

export interface EventRow {
  seq: number
  version: number
  at: number
  actor: string
  type: string
  lane: string
  key: string | null
  parent: number | null
  /** JSON text, or null when the payload lies in R2 under `blob`. */
  payload: string | null
  blob: string | null
  /** Bytes of the payload's JSON text. */
  size: number
  digest: string
}

/** What one version made of one entry. */
export interface ChangeRow {
  kind: string
  key: string
  version: number
  /** JSON text, or null when the value lies in R2 under `blob`, or when the entry was taken away. */
  value: string | null
  blob: string | null
  size: number
  /** Null when this version took the entry away. */
  digest: string | null
}

/**
 * The commits `from` to `to`, without a hole, and all their events and changes. Changes are in version order; the last one
 * of an entry in a version counts. A batch should stay below about 8 MiB, so that D1 applies it in one short transaction.
 */
export interface ProjectionBatch {
  fleet: string
  session: string
  row: SessionRow
  from: number
  to: number
  commits: readonly CommitRow[]
  events: readonly EventRow[]
  changes: readonly ChangeRow[]
}

/**
 * `projected`: every commit up to here is in the catalog. After a `gap` the outbox begins again at `projected + 1`. `gone`:
 * the session is being removed; nothing was written and nothing will be.
 */
export type Projected =
  | { ok: true; projected: number }
  | { ok: false; code: 'gap' | 'gone'; projected: number }
