// The Fleet object's tables. They come to be with the fleet and not before, so that a question about a fleet that
// does not exist leaves nothing behind.

/** Whether this object's fleet was created. */
export function hasTables(sql: SqlStorage): boolean {
  return sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'fleet'").toArray().length > 0
}

export function createTables(sql: SqlStorage, name: string, now: number): void {
  sql.exec(TABLES)
  sql.exec('INSERT INTO fleet (name, created_at, seq) VALUES (?, ?, 0)', name, now)
}

// `seq` numbers every change of keys and revocations in one order: it is the cursor of a view.
const TABLES = `
CREATE TABLE fleet (
  name TEXT PRIMARY KEY,
  created_at INTEGER NOT NULL,
  seq INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  hash TEXT NOT NULL,
  label TEXT,
  created_at INTEGER NOT NULL,
  seq INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX keys_seq ON keys (seq);

CREATE TABLE revoked (
  id TEXT PRIMARY KEY,
  expires_at INTEGER NOT NULL,
  seq INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX revoked_seq ON revoked (seq);
CREATE INDEX revoked_expiry ON revoked (expires_at);

CREATE TABLE tails (
  id TEXT NOT NULL,
  session TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (id, session)
) WITHOUT ROWID;
CREATE INDEX tails_expiry ON tails (expires_at);

CREATE TABLE notices (
  session TEXT NOT NULL,
  id TEXT NOT NULL,
  due INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  PRIMARY KEY (session, id)
) WITHOUT ROWID;
`
