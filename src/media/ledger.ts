// The ledger: which R2 objects a fleet has and who holds each, recorded before the bytes are written. The only place from
// which an object may be condemned; docs/bytes.md has the argument why a blob that is written again survives. A fleet has
// sixteen of these, chosen by the object's name.

import { DurableObject } from 'cloudflare:workers'
import type { Env } from '../env.ts'

/** An object that somebody is about to write or to refer to. */
export interface Wanted {
  /** A blob's SHA-256, or `pack:ID`. */
  name: string
  /** Where it would lie if nobody has it yet. */
  key: string
  size: number
  /** The bytes are there already, under just this key. */
  stored?: boolean
}

export interface Hold {
  name: string
  /** Where it lies, or has to be written. */
  key: string
  /** Its bytes are known to be there: writing them again is not needed. */
  stored: boolean
}

/** A hold to be asked about. */
export interface Holding {
  name: string
  key: string
  holder: string
}

export interface LedgerObject {
  name: string
  key: string
  size: number
}

const tables = `
  CREATE TABLE IF NOT EXISTS objects (
    name TEXT PRIMARY KEY, key TEXT NOT NULL, size INTEGER NOT NULL, at INTEGER NOT NULL, stored INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS holders (
    name TEXT NOT NULL, holder TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (name, holder)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS doomed (key TEXT PRIMARY KEY, gone INTEGER) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS walk (id INTEGER PRIMARY KEY, cursor TEXT, began INTEGER NOT NULL) STRICT;
`

/** How long a key that R2 has deleted is still not written: longer than any request lives. */
const tombstoneMs = 24 * 3600 * 1000

export class Ledger extends DurableObject<Env> {
  readonly #sql: SqlStorage
  #ready = false

  constructor(context: DurableObjectState, env: Env) {
    super(context, env)
    this.#sql = context.storage.sql
  }

  /** Records that a holder needs these objects, and says where they lie. From here on none of them is condemned. */
  async hold(holder: string, wanted: readonly Wanted[], now = Date.now()): Promise<Hold[]> {
    this.#open()
    return this.ctx.storage.transactionSync(() => wanted.map((one) => this.#hold(holder, one, now)))
  }

  /** The bytes of these objects have been written. */
  async stored(names: readonly string[]): Promise<void> {
    this.#open()
    this.#sql.exec(
      'UPDATE objects SET stored = 1 WHERE stored = 0 AND name IN (SELECT value FROM json_each(?))',
      JSON.stringify(names),
    )
  }

  /** Whether the object known by this name lies at just this key, or did until it was condemned. */
  async lies(name: string, key: string): Promise<boolean> {
    this.#open()
    return (
      this.#sql
        .exec(
          'SELECT 1 FROM objects WHERE name = ? AND key = ? UNION SELECT 1 FROM doomed WHERE key = ?',
          name,
          key,
          key,
        )
        .toArray().length > 0
    )
  }

  /** Who holds an object. */
  async holders(name: string): Promise<string[]> {
    this.#open()
    return this.#sql
      .exec<{ holder: string }>('SELECT holder FROM holders WHERE name = ?', name)
      .toArray()
      .map(({ holder }) => holder)
  }

  /** Ends holds by their holder's own word. */
  async release(holder: string, names: readonly string[]): Promise<void> {
    this.#open()
    this.#sql.exec(
      'DELETE FROM holders WHERE holder = ? AND name IN (SELECT value FROM json_each(?))',
      holder,
      JSON.stringify(names),
    )
  }

  /** The sweep's walk: sessions' holds that are older than `before`, in order, a page at a time. */
  async walk(
    after: string | null,
    before: number,
    limit: number,
  ): Promise<{ items: Holding[]; next: string | null }> {
    this.#open()
    const [name, holder]: [string, string] = after === null ? ['', ''] : JSON.parse(after)
    const items = this.#sql
      .exec<{ name: string; key: string; holder: string }>(
        // A holder with a slash in its name is no session; it is never asked.
        `SELECT h.name AS name, o.key AS key, h.holder AS holder FROM holders AS h JOIN objects AS o ON o.name = h.name
         WHERE (h.name, h.holder) > (?, ?) AND h.at < ? AND instr(h.holder, '/') = 0
         ORDER BY h.name, h.holder LIMIT ?`,
        name,
        holder,
        before,
        limit,
      )
      .toArray()
    const last = items.length < limit ? undefined : items.at(-1)
    return { items, next: last === undefined ? null : JSON.stringify([last.name, last.holder]) }
  }

  /** Drops holds that are still older than `before`: one taken again since stays. */
  async letGo(holder: string, names: readonly string[], before: number): Promise<void> {
    this.#open()
    this.#sql.exec(
      'DELETE FROM holders WHERE holder = ? AND at < ? AND name IN (SELECT value FROM json_each(?))',
      holder,
      before,
      JSON.stringify(names),
    )
  }

  /**
   * Objects that nobody holds, written before `before`, and how many objects there are in all.
   *
   * @param without holds to be taken for ended: what a dry run would have ended
   */
  async idle(
    before: number,
    limit: number,
    without: readonly (readonly [name: string, holder: string])[] = [],
  ): Promise<{ items: LedgerObject[]; idle: number; objects: number }> {
    this.#open()
    const ended = JSON.stringify(without.map(([name, holder]) => `${holder}\n${name}`))
    const items = this.#sql
      .exec<{ name: string; key: string; size: number }>(
        `SELECT name, key, size FROM objects AS o WHERE at < ? AND NOT EXISTS (
           SELECT 1 FROM holders AS h WHERE h.name = o.name
             AND h.holder || char(10) || h.name NOT IN (SELECT value FROM json_each(?)))
         ORDER BY name`,
        before,
        ended,
      )
      .toArray()
    const objects = this.#sql.exec<{ n: number }>('SELECT count(*) AS n FROM objects').one().n
    return { items: items.slice(0, limit), idle: items.length, objects }
  }

  /** Takes away what is still held by nobody; its key is not written again. Answers how many objects and bytes that is. */
  async condemn(names: readonly string[], before: number): Promise<{ count: number; bytes: number }> {
    this.#open()
    return this.ctx.storage.transactionSync(() => {
      let count = 0
      let bytes = 0
      for (const name of names) {
        const row = this.#sql
          .exec<{ key: string; size: number }>(
            `SELECT key, size FROM objects WHERE name = ? AND at < ?
             AND NOT EXISTS (SELECT 1 FROM holders WHERE holders.name = objects.name)`,
            name,
            before,
          )
          .toArray()[0]
        if (!row) continue
        this.#sql.exec('DELETE FROM objects WHERE name = ?', name)
        this.#sql.exec('INSERT OR REPLACE INTO doomed (key, gone) VALUES (?, NULL)', row.key)
        count++
        bytes += row.size
      }
      return { count, bytes }
    })
  }

  /** Keys that R2 has yet to delete; after a crash the same again. */
  async doomed(limit: number): Promise<string[]> {
    this.#open()
    return this.#sql
      .exec<{ key: string }>('SELECT key FROM doomed WHERE gone IS NULL LIMIT ?', limit)
      .toArray()
      .map((row) => row.key)
  }

  /** R2 has deleted these. */
  async buried(keys: readonly string[], now = Date.now()): Promise<void> {
    this.#open()
    this.#sql.exec(
      'UPDATE doomed SET gone = ? WHERE key IN (SELECT value FROM json_each(?))',
      now,
      JSON.stringify(keys),
    )
    this.#sql.exec('DELETE FROM doomed WHERE gone < ?', now - tombstoneMs)
  }

  /** Where the sweep's walk stands, so that the next run goes on from there; `began` is when this round began. */
  async place(): Promise<{ cursor: string | null; began: number }> {
    this.#open()
    const row = this.#sql
      .exec<{ cursor: string | null; began: number }>('SELECT cursor, began FROM walk')
      .toArray()[0]
    return row ?? { cursor: null, began: 0 }
  }

  async keepPlace(cursor: string | null, began: number): Promise<void> {
    this.#open()
    this.#sql.exec('INSERT OR REPLACE INTO walk (id, cursor, began) VALUES (0, ?, ?)', cursor, began)
  }

  #hold(holder: string, { name, key, size, stored = false }: Wanted, now: number): Hold {
    const row = this.#sql
      .exec<{ key: string; stored: number }>('SELECT key, stored FROM objects WHERE name = ?', name)
      .toArray()[0]
    const lies = row?.key ?? this.#freeKey(key)
    if (row) this.#sql.exec('UPDATE objects SET at = ? WHERE name = ?', now, name)
    else {
      this.#sql.exec(
        'INSERT INTO objects (name, key, size, at, stored) VALUES (?, ?, ?, ?, ?)',
        name,
        lies,
        size,
        now,
        stored ? 1 : 0,
      )
    }
    this.#sql.exec(
      'INSERT INTO holders (name, holder, at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at',
      name,
      holder,
      now,
    )
    return { name, key: lies, stored: row ? row.stored === 1 : stored }
  }

  #freeKey(key: string): string {
    for (let n = 0; ; n++) {
      const candidate = n === 0 ? key : `${key}.${n}`
      if (this.#sql.exec('SELECT 1 FROM doomed WHERE key = ?', candidate).toArray().length === 0)
        return candidate
    }
  }

  #open(): void {
    if (!this.#ready) this.#sql.exec(tables)
    this.#ready = true
  }
}
