// The object's tables, and how an object of an older shape becomes one of today's. docs/storage.md says what each column
// is for and what a write costs.

import { blobTables } from './blobs.ts'
import { lineageTables } from './lineage.ts'
import { recallTables } from './recall/index-tables.ts'
import { tableTables } from './tables/indexes.ts'

const spine = `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE commits (
    version INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    held_at INTEGER NOT NULL,
    message TEXT,
    cause TEXT,
    digest BLOB NOT NULL,
    changes BLOB NOT NULL,
    seq INTEGER NOT NULL,
    states INTEGER NOT NULL,
    files INTEGER NOT NULL,
    memories INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE more_changes (
    version INTEGER NOT NULL,
    part INTEGER NOT NULL,
    changes BLOB NOT NULL,
    PRIMARY KEY (version, part)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    type TEXT NOT NULL,
    lane TEXT NOT NULL,
    key TEXT,
    parent INTEGER,
    call TEXT,
    inputs TEXT,
    value BLOB,
    blob TEXT,
    size INTEGER NOT NULL,
    salt BLOB NOT NULL,
    digest BLOB NOT NULL
  ) STRICT;
  -- Partial, so that an event without a correlation key or a call costs no index row.
  -- Not unique: a key that a revert has cut away may come again.
  CREATE INDEX events_by_key ON events (key, seq) WHERE key IS NOT NULL;
  CREATE INDEX events_by_call ON events (type, call, seq) WHERE call IS NOT NULL;

  CREATE TABLE entries (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    since INTEGER NOT NULL,
    inputs TEXT,
    value BLOB,
    blob TEXT,
    size INTEGER NOT NULL,
    salt BLOB NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (kind, key)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE past (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL,
    inputs TEXT,
    value BLOB,
    blob TEXT,
    size INTEGER NOT NULL,
    salt BLOB NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (kind, key, since)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE blobs (sha256 TEXT PRIMARY KEY, size INTEGER NOT NULL, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE answers (
    key TEXT PRIMARY KEY,
    request BLOB NOT NULL,
    at INTEGER NOT NULL,
    answer TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- What of a long answer does not fit in one row.
  CREATE TABLE more_answers (
    key TEXT NOT NULL,
    part INTEGER NOT NULL,
    answer TEXT NOT NULL,
    PRIMARY KEY (key, part)
  ) STRICT, WITHOUT ROWID;
`

const time = `
  -- Where the active log was set back: after the event \`seq\` it is what it was at \`to_seq\`, and then what follows.
  CREATE TABLE cuts (seq INTEGER PRIMARY KEY, to_seq INTEGER NOT NULL) STRICT;

  -- Where an event that a merge brought comes from.
  ALTER TABLE events ADD COLUMN origin TEXT;

  -- The world's pages as of meta 'paged'.
  CREATE TABLE pages (
    kind TEXT NOT NULL,
    -- The key of the page's first entry; of the log, its seq as 16 digits, so that both sort as they should.
    first TEXT NOT NULL,
    count INTEGER NOT NULL,
    name TEXT NOT NULL,
    -- 1 when R2 has it.
    stored INTEGER NOT NULL,
    PRIMARY KEY (kind, first)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE snapshots (
    name TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    root TEXT NOT NULL,
    entries INTEGER NOT NULL,
    events INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    pages INTEGER NOT NULL,
    pages_written INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    message TEXT
  ) STRICT, WITHOUT ROWID;

  -- Snapshots of which the catalog has not heard: made (1) or dropped (0).
  CREATE TABLE snapshot_news (name TEXT PRIMARY KEY, made INTEGER NOT NULL) STRICT, WITHOUT ROWID;

  -- Erasures whose rows are gone and whose forks, pages and bytes may not be.
  CREATE TABLE erasures (id INTEGER PRIMARY KEY, work TEXT NOT NULL) STRICT;

  -- Forks that may still take rows from here.
  CREATE TABLE children (
    session TEXT PRIMARY KEY, version INTEGER NOT NULL, settled INTEGER NOT NULL, begun INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`

/** Each step brings the schema from its index to the next; a step is never edited once it has been released. */
const steps: readonly string[] = [spine, time, blobTables, tableTables, lineageTables, recallTables]

export const schemaVersion = steps.length

/** The schema an object has; 0 when it holds nothing at all, so that asking costs no write. */
export function storedSchema(sql: SqlStorage): number {
  const table = sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'").toArray()
  if (table.length === 0) return 0
  const row = sql.exec<{ value: string }>("SELECT value FROM meta WHERE key = 'schema'").toArray()[0]
  return Number(row?.value ?? 0)
}

/**
 * Brings the tables to today's schema, all steps in one transaction: killed half-way, the old schema is still whole.
 *
 * @throws when the object was written by a newer Lares; reading it with older code could lose what that code knows.
 */
export function migrate(storage: DurableObjectStorage, from: number): void {
  if (from > schemaVersion) throw new NewerSchema(from)
  if (from === schemaVersion) return
  storage.transactionSync(() => {
    for (const step of steps.slice(from)) storage.sql.exec(step)
    storage.sql.exec("INSERT OR REPLACE INTO meta (key, value) VALUES ('schema', ?)", String(schemaVersion))
  })
}

export class NewerSchema extends Error {
  constructor(found: number) {
    super(`this session has schema ${found}, newer than the ${schemaVersion} this version of Lares knows`)
  }
}
