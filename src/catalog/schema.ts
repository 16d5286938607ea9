// The catalog's tables in D1. `fleet` comes first in every key, so that no query can cross a fleet by forgetting a filter
// on an index, and every table is clustered on its natural key (WITHOUT ROWID, in migrations/): a row costs one write.
// Each secondary index is a further written row; the reason for it stands beside it.

import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** One row a session: what it is called, how far its head was when last heard of, how far its history has come in. */
export const sessions = sqliteTable(
  'sessions',
  {
    fleet: text().notNull(),
    session: text().notNull(),
    /** The head as last heard of; never below `projected_version`. */
    version: integer().notNull(),
    /** Every commit up to here is in the tables below, whole; nothing beyond it is. */
    projected_version: integer().notNull(),
    /** Hex digest of the commit at `version`. */
    digest: text().notNull(),
    title: text(),
    /** The title in lower case by Unicode's rules: SQLite's lower() knows ASCII alone. */
    title_folded: text(),
    labels: text({ mode: 'json' }).$type<Record<string, string>>().notNull(),
    /** Epoch milliseconds, as every time here. */
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    expires_at: integer(),
    origin_session: text(),
    origin_version: integer(),
    /** Set while its rows are being taken away in steps; the row itself goes last, so that no late batch slips in. */
    deleted: integer({ mode: 'boolean' }).notNull().default(false),
  },
  (t) => [
    primaryKey({ columns: [t.fleet, t.session] }),
    // Moves with every batch, not with every commit: a busy session pays for it a few times a second at most.
    index('sessions_by_update').on(t.fleet, t.updated_at, t.session),
    // Written once in a session's life.
    index('sessions_by_creation').on(t.fleet, t.created_at, t.session),
  ],
)

/** A session's labels turned round, for the label filter. */
export const sessionLabels = sqliteTable(
  'session_labels',
  {
    fleet: text().notNull(),
    key: text().notNull(),
    value: text().notNull(),
    session: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.fleet, t.key, t.value, t.session] })],
)

/** One row a version. */
export const commits = sqliteTable(
  'commits',
  {
    fleet: text().notNull(),
    session: text().notNull(),
    version: integer().notNull(),
    at: integer().notNull(),
    actor: text().notNull(),
    message: text(),
    /** JSON, or NULL when the commit names no cause. */
    cause: text(),
    digest: text().notNull(),
    /** `[{op, ref}, …]`, as many as fit; the object has them all. */
    ops: text().notNull(),
    /** Whether `ops` was cut. */
    ops_more: integer({ mode: 'boolean' }).notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.fleet, t.session, t.version] }),
    // Activity over all sessions, in the order of time.
    index('commits_by_time').on(t.fleet, t.at, t.session, t.version),
  ],
)

/** One row an event of a log. */
export const events = sqliteTable(
  'events',
  {
    fleet: text().notNull(),
    session: text().notNull(),
    seq: integer().notNull(),
    version: integer().notNull(),
    at: integer().notNull(),
    actor: text().notNull(),
    type: text().notNull(),
    lane: text().notNull(),
    key: text(),
    parent: integer(),
    /** JSON, or NULL when it lies in R2 or is too large for a row. */
    payload: text(),
    /** SHA-256 of a payload that lies in R2. */
    blob: text(),
    /** Bytes of the payload. */
    size: integer().notNull(),
    digest: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.fleet, t.session, t.seq] })],
)

/** Every value an entry had, with the versions it held at: `since <= v`, and `v < until` unless it is the head. */
export const entries = sqliteTable(
  'entries',
  {
    fleet: text().notNull(),
    session: text().notNull(),
    kind: text().notNull(),
    key: text().notNull(),
    since: integer().notNull(),
    until: integer(),
    /** JSON, or NULL when it lies in R2 or is too large for a row. */
    value: text(),
    /** SHA-256 of the bytes in R2: a file's content, or a value that was moved there. */
    blob: text(),
    size: integer().notNull(),
    digest: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.fleet, t.session, t.kind, t.key, t.since] })],
)

/** One row a snapshot: a manifest in R2, by the root that names it. */
export const snapshots = sqliteTable(
  'snapshots',
  {
    fleet: text().notNull(),
    session: text().notNull(),
    name: text().notNull(),
    version: integer().notNull(),
    /** Hex digest of the commit at `version`. */
    digest: text().notNull(),
    root: text().notNull(),
    /** The id under which the session's family keeps its pages. */
    family: text().notNull(),
    entries: integer().notNull(),
    events: integer().notNull(),
    bytes: integer().notNull(),
    created_at: integer().notNull(),
    message: text(),
  },
  (t) => [primaryKey({ columns: [t.fleet, t.session, t.name] })],
)

/** What a snapshot consists of in R2: every row points at bytes that are there. */
export const snapshotObjects = sqliteTable(
  'snapshot_objects',
  {
    fleet: text().notNull(),
    session: text().notNull(),
    name: text().notNull(),
    sha256: text().notNull(),
    kind: text({ enum: ['manifest', 'page', 'blob'] }).notNull(),
    r2_key: text().notNull(),
    /** Where in its object a blob begins. */
    start: integer().notNull(),
    size: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.fleet, t.session, t.name, t.sha256] })],
)
