// What one object knows about its world: the head, who the session is, the lease. Everything here is a cache of rows, so
// that a write reads nothing it already knows; it is only ever changed after the rows are.

import { hex, saltKeyOf } from '../crypto.ts'
import { genesis } from '../protocol/digests.ts'
import { type Failure, fail } from '../protocol/errors.ts'
import { type Lease, noLease } from './lease.ts'
import { migrate, schemaVersion, storedSchema } from './schema.ts'

/** What the newest commit left behind. */
export interface Head {
  version: number
  /** The newest event. */
  seq: number
  at: number
  /** Hex. */
  digest: string
  counts: Counts
  /** The last epoch under which the holder wrote, and when. */
  epoch: number
  heldAt: number
}

export interface Counts {
  states: number
  files: number
  memories: number
  rows: number
  bytes: number
}

export interface Origin {
  session: string
  version: number
}

/** Who the session is; kept as one row. */
export interface Identity {
  fleet: string
  session: string
  title: string | null
  labels: Record<string, string>
  created_at: number
  updated_at: number
  expires_at: number | null
  retention: { versions: number | null; days: number | null }
  origin: Origin | null
  /** Where this world comes from, nearest first: its origin, its origin's origin, and so on. */
  ancestry: Origin[]
  /** The random id that a session and all its forks share. */
  family: string
  /** The oldest version there is; what lies before it was never here, because the world was restored or imported without its past. */
  floor: number
  /** Hex; fixed at creation, so that digests outlive a change of secrets. */
  salt_key: string
}

interface Loaded {
  identity: Identity
  head: Head
  lease: Lease
  saltKey: Uint8Array
  /** Versions before this one are not kept, but for those of snapshots. */
  pruned: number
}

export class World {
  readonly storage: DurableObjectStorage
  readonly sql: SqlStorage
  #loaded: Loaded | null = null
  readonly #held = new Set<{ version: number }>()
  #state: 'new' | 'staged' | 'live' | 'deleted'

  /** @throws NewerSchema when the object was written by a newer Lares. */
  constructor(storage: DurableObjectStorage) {
    this.storage = storage
    this.sql = storage.sql
    const schema = storedSchema(this.sql)
    if (schema === 0) {
      this.#state = 'new'
      return
    }
    migrate(storage, schema)
    this.#state = this.meta('deleted') !== null ? 'deleted' : this.meta('stage') !== null ? 'staged' : 'live'
  }

  /** Why this session cannot be used, or null. A session that has expired is gone, also before anything removed it. */
  closed(): Failure | null {
    // What is being taken in is not there until all of it is.
    if (this.#state === 'new' || this.#state === 'staged') return fail('not_found', 'no such session')
    if (this.#state === 'deleted') return fail('gone', 'the session was deleted')
    const { expires_at } = this.identity
    if (expires_at !== null && expires_at <= Date.now()) return fail('gone', 'the session has expired')
    return null
  }

  /** `staged`: a world is being taken in, and there is no session yet. */
  get state(): 'new' | 'staged' | 'live' | 'deleted' {
    return this.#state
  }

  get identity(): Identity {
    return this.#load().identity
  }

  get head(): Head {
    return this.#load().head
  }

  set head(head: Head) {
    this.#load().head = head
  }

  get lease(): Lease {
    return this.#load().lease
  }

  get pruned(): number {
    return this.#load().pruned
  }

  set pruned(version: number) {
    this.setMeta('pruned', String(version))
    this.#load().pruned = version
  }

  get saltKey(): Uint8Array {
    return this.#load().saltKey
  }

  /** Makes the tables and the session's row. */
  found(identity: Omit<Identity, 'salt_key'>, digestSecret: string): void {
    this.foundWith({ ...identity, salt_key: hex(saltKeyOf(digestSecret, identity.fleet)) }, () => {})
  }

  /** Makes the tables, the session's row, and what comes with it, all at once. */
  foundWith(identity: Identity, fill: () => void): void {
    this.storage.transactionSync(() => {
      migrate(this.storage, 0)
      this.setMeta('session', JSON.stringify(identity))
      fill()
    })
    this.#state = 'live'
    this.#loaded = null
  }

  /** Makes the tables for a world that is about to be taken in. */
  stage(mark: string): void {
    this.storage.transactionSync(() => {
      migrate(this.storage, 0)
      this.setMeta('stage', mark)
    })
    this.#state = 'staged'
  }

  /** Makes what was taken in a session, with what else `fill` writes, all at once. */
  open(identity: Identity, fill: () => void): void {
    this.storage.transactionSync(() => {
      this.setMeta('session', JSON.stringify(identity))
      this.dropMeta('stage')
      fill()
    })
    this.#state = 'live'
    this.#loaded = null
  }

  /** Drops all that was taken in: there never was a session. */
  unstage(): void {
    if (this.#state === 'staged') this.vacate()
  }

  /** Drops all there is. For what nobody has written to yet. */
  vacate(): void {
    if (this.#state === 'new') return
    this.storage.transactionSync(() => this.#dropTables([]))
    this.#state = 'new'
    this.#loaded = null
  }

  saveIdentity(identity: Identity): void {
    this.setMeta('session', JSON.stringify(identity))
    this.#load().identity = identity
  }

  saveLease(lease: Lease): void {
    this.setMeta('lease', JSON.stringify(lease))
    this.#load().lease = lease
  }

  /** Ends the session for everyone, and keeps its rows for forks that still take them over. */
  close(): void {
    const { fleet, session, family } = this.identity
    this.setMeta('deleted', JSON.stringify({ fleet, session, family, at: Date.now() }))
    this.#state = 'deleted'
  }

  /** Drops everything but the fact that there was a session of this name. */
  bury(): void {
    const deleted = this.meta('deleted') ?? 'null'
    this.storage.transactionSync(() => {
      this.sql.exec('DELETE FROM upload_parts')
      this.#dropTables(keptTables)
      this.sql.exec('CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID')
      this.setMeta('schema', String(schemaVersion))
      this.setMeta('deleted', deleted)
    })
    this.#loaded = null
  }

  #dropTables(but: readonly string[]): void {
    const tables = this.sql
      .exec<{ name: string }>(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
      )
      .toArray()
    for (const { name } of tables) if (!but.includes(name)) this.sql.exec(`DROP TABLE IF EXISTS "${name}"`)
  }

  /** Whether a deleted session still has the rows it had. */
  get buried(): boolean {
    return this.meta('session') === null
  }

  /** Keeps a version's past from being pruned until the returned function is called. */
  hold(version: number): () => void {
    const held = { version }
    this.#held.add(held)
    return () => {
      this.#held.delete(held)
    }
  }

  get held(): number[] {
    return [...this.#held].map(({ version }) => version)
  }

  meta(key: string): string | null {
    return (
      this.sql.exec<{ value: string }>('SELECT value FROM meta WHERE key = ?', key).toArray()[0]?.value ??
      null
    )
  }

  setMeta(key: string, value: string): void {
    this.sql.exec(
      'INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
      key,
      value,
    )
  }

  dropMeta(key: string): void {
    this.sql.exec('DELETE FROM meta WHERE key = ?', key)
  }

  #load(): Loaded {
    if (this.#loaded) return this.#loaded
    const identity: Identity = JSON.parse(this.meta('session') ?? 'null')
    const lease = this.meta('lease')
    this.#loaded = {
      identity,
      head: readHead(this.sql),
      lease: lease === null ? noLease : JSON.parse(lease),
      saltKey: Buffer.from(identity.salt_key, 'hex'),
      pruned: Number(this.meta('pruned') ?? 0),
    }
    return this.#loaded
  }

  /** Forgets what was cached, so that the rows speak again. */
  reload(): void {
    this.#loaded = null
  }
}

interface HeadRow extends Record<string, SqlStorageValue> {
  version: number
  seq: number
  at: number
  digest: ArrayBuffer
  states: number
  files: number
  memories: number
  rows: number
  bytes: number
  epoch: number
  held_at: number
}

function readHead(sql: SqlStorage): Head {
  const row = sql.exec<HeadRow>('SELECT * FROM commits ORDER BY version DESC LIMIT 1').toArray()[0]
  if (!row) return { version: 0, seq: 0, at: 0, digest: genesis, counts: noCounts, epoch: 0, heldAt: 0 }
  const { version, seq, at, digest, states, files, memories, rows, bytes, epoch, held_at } = row
  return {
    version,
    seq,
    at,
    digest: hex(digest),
    counts: { states, files, memories, rows, bytes },
    epoch,
    heldAt: held_at,
  }
}

/**
 * Tables that outlive a session: what it held in R2, until that is handed back; and its forks, through which an erasure in its
 * line must still pass.
 */
const keptTables: readonly string[] = ['blobs', 'uploads', 'children']

export const noCounts: Counts = { states: 0, files: 0, memories: 0, rows: 0, bytes: 0 }
