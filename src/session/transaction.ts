// The working set of one commit: kinds change the world through it and never touch SQL. It moves what an entry was into the
// past, seals values with salt and digest, counts, and remembers what each reference became.

import { hashes, hex } from '../crypto.ts'
import type { Canonical } from '../protocol/canonical.ts'
import type { Change } from '../protocol/digests.ts'
import { eventValue, saltOf, valueDigest } from '../protocol/digests.ts'
import { limits } from '../protocol/limits.ts'
import { type EntryKind, formatRef } from '../protocol/refs.ts'
import { noValue } from './erased.ts'
import { noteInputs } from './lineage.ts'
import { Refusal } from './refusal.ts'
import type { Value } from './rpc.ts'
import { currentEntry, type Entry, entryAt, entryStamp, keysFrom } from './store.ts'
import type { Counts, World } from './world.ts'

export { Refusal }

export interface NewEvent {
  type: string
  lane: string
  payload: Value
  key?: string | undefined
  parent?: number | undefined
  call?: string | undefined
  /** Where a merge found it, as JSON. */
  origin?: string | undefined
}

export interface Sealed {
  text: string | null
  blob: string | null
  size: number
  salt: Uint8Array
  digest: Uint8Array
}

/** Entries, and characters of their values, in one statement. */
const partEntries = 500
const partChars = 500_000

const overwrite = `since = excluded.since, inputs = excluded.inputs, value = excluded.value, blob = excluded.blob,
  size = excluded.size, salt = excluded.salt, digest = excluded.digest`

const counted: Record<EntryKind, keyof Counts | null> = {
  state: 'states',
  file: 'files',
  memory: 'memories',
  row: 'rows',
  table: null,
  view: null,
}

export class Transaction {
  readonly world: World
  readonly version: number
  readonly at: number
  readonly actor: string
  /** What each reference became, in the order in which they were first touched. */
  readonly changes = new Map<string, Change>()
  readonly counts: Counts
  seq: number
  /** The operation being applied, as its changes will name it, and its inputs. */
  #op = ''
  #from: readonly string[] | undefined
  /** What each change costs beside its own name. */
  #fromChars = 0
  #room: { changes: number; chars: number } | null = null

  constructor(world: World, at: number, actor: string) {
    const { head } = world
    this.world = world
    this.version = head.version + 1
    this.at = at
    this.actor = actor
    this.counts = { ...head.counts }
    this.seq = head.seq
  }

  /** Names the operation to which the changes that follow belong. */
  begin(op: string, from: readonly string[] | undefined): void {
    this.#op = op
    this.#from = from
    this.#fromChars = 0
    for (const ref of from ?? []) this.#fromChars += ref.length
  }

  /** Sets bounds to all changes that follow: what an operation names in a word may be more than an object can hold. */
  bound(changes: number, chars: number): void {
    this.#room = { changes, chars }
  }

  append(event: NewEvent): number {
    const seq = ++this.seq
    const { text, blob, size, salt, digest } = this.#sealEvent(event)
    const { type, lane, key = null, parent = null, call = null, origin = null } = event
    this.world.sql.exec(
      `INSERT INTO events (seq, version, at, actor, type, lane, key, parent, call, inputs, origin, value, blob, size, salt, digest)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, jsonb(?), ?, ?, ?, ?)`,
      seq,
      this.version,
      this.at,
      this.actor,
      type,
      lane,
      key,
      parent,
      call,
      this.#inputs(),
      origin,
      text,
      blob,
      size,
      salt,
      digest,
    )
    this.counts.bytes += size
    this.#changed(formatRef('log', seq), hex(digest))
    return seq
  }

  get(kind: EntryKind, key: string): Entry | null {
    return currentEntry(this.world.sql, kind, key)
  }

  /**
   * An entry whose value can be built on; null when there is none.
   *
   * @throws {Refusal} when it was erased, or does not read back
   */
  readable(kind: EntryKind, key: string): Entry | null {
    const entry = this.get(kind, key)
    if (entry === null || entry.text !== null || entry.blob !== null) return entry
    const { code, detail } = noValue(entry, formatRef(kind, key))
    throw new Refusal(code, detail)
  }

  /** Keys of a kind that begin with a prefix, in order, as they are now. */
  keys(kind: EntryKind, prefix: string): string[] {
    return keysFrom(this.world.sql, kind, prefix)
  }

  /**
   * Writes an entry. Answers true when there was none.
   *
   * @param weight bytes it stands for in the session's total, where that is not its own length
   */
  put(kind: EntryKind, key: string, value: Value, weight?: number): boolean {
    const { text, blob, size: length, salt, digest } = this.#seal(value)
    const size = weight ?? length
    const before = this.#retire(kind, key)
    this.#write(kind, key, { text, blob, size, salt, digest }, this.#inputs())
    this.#count(kind, before === null ? 1 : 0, size - (before?.size ?? 0))
    this.#changed(formatRef(kind, key), hex(digest))
    return before === null
  }

  /** Writes many small entries at once: what a row costs by itself is paid once a statement. Each key comes once. */
  putAll(kind: EntryKind, entries: readonly { key: string; text: Canonical }[]): void {
    for (let i = 0; i < entries.length; ) {
      const part: { key: string; sealed: Sealed }[] = []
      let length = 0
      for (
        let entry = entries[i];
        entry !== undefined && part.length < partEntries && length < partChars;
        entry = entries[i]
      ) {
        part.push({ key: entry.key, sealed: this.#seal(entry.text) })
        length += entry.text.length
        i++
      }
      this.#putPart(kind, part)
    }
  }

  #putPart(kind: EntryKind, part: readonly { key: string; sealed: Sealed }[]): void {
    const { sql } = this.world
    const inputs = this.#inputs()
    const keys = JSON.stringify(part.map(({ key }) => key))
    const among = 'kind = ?1 AND key IN (SELECT value FROM json_each(?2))'
    const before = new Map(
      sql
        .exec<{ key: string; size: number }>(`SELECT key, size FROM entries WHERE ${among}`, kind, keys)
        .toArray()
        .map(({ key, size }) => [key, size]),
    )
    if (before.size > 0) {
      sql.exec(
        `INSERT INTO past (kind, key, since, until, inputs, value, blob, size, salt, digest)
         SELECT kind, key, since, ?3, inputs, value, blob, size, salt, digest FROM entries WHERE ${among} AND since < ?3`,
        kind,
        keys,
        this.version,
      )
    }
    const seals = Buffer.concat(part.flatMap(({ sealed }) => [sealed.salt, sealed.digest]))
    const rows = part.map(({ key, sealed }) => `[${JSON.stringify(key)},${sealed.size},${sealed.text}]`)
    sql.exec(
      `INSERT INTO entries (kind, key, since, inputs, value, blob, size, salt, digest)
       SELECT ?1, value ->> 0, ?2, ?3, jsonb(value -> 2), NULL, value ->> 1,
         substr(?4, key * 48 + 1, 16), substr(?4, key * 48 + 17, 32) FROM json_each(?5) WHERE true
       ON CONFLICT (kind, key) DO UPDATE SET ${overwrite}`,
      kind,
      this.version,
      inputs,
      seals,
      `[${rows.join(',')}]`,
    )
    for (const { key, sealed } of part) {
      const size = before.get(key)
      this.#count(kind, size === undefined ? 1 : 0, sealed.size - (size ?? 0))
      this.#changed(formatRef(kind, key), hex(sealed.digest))
    }
  }

  /** Makes an entry what it was at a version, from the row that holds it; absent if it was absent. Answers whether that changed it. */
  restore(kind: EntryKind, key: string, version: number): boolean {
    const { sql } = this.world
    const was = entryAt(sql, kind, key, version)
    if (was === null) return this.remove(kind, key)
    const now = entryStamp(sql, kind, key)
    if (now !== null && hex(now.digest) === hex(was.digest)) return false
    const before = this.#retire(kind, key)
    // Copied row to row: it may hold an imported salt, lie in R2, or be erased.
    sql.exec(
      `INSERT INTO entries (kind, key, since, inputs, value, blob, size, salt, digest)
       SELECT kind, key, ?, inputs, value, blob, size, salt, digest FROM past WHERE kind = ? AND key = ? AND since = ?
       ON CONFLICT (kind, key) DO UPDATE SET ${overwrite}`,
      this.version,
      kind,
      key,
      was.since,
    )
    this.#count(kind, before === null ? 1 : 0, was.size - (before?.size ?? 0))
    this.#changed(formatRef(kind, key), hex(was.digest))
    const { inputs } = sql
      .exec<{ inputs: string | null }>('SELECT inputs FROM entries WHERE kind = ? AND key = ?', kind, key)
      .one()
    this.#noteKeptInputs(kind, key, inputs)
    return true
  }

  /** Takes over an entry from another world, salt and all. Answers true when there was none. */
  adopt(kind: EntryKind, key: string, sealed: Sealed, inputs: string | null): boolean {
    const before = this.#retire(kind, key)
    this.#write(kind, key, sealed, inputs)
    this.#count(kind, before === null ? 1 : 0, sealed.size - (before?.size ?? 0))
    this.#changed(formatRef(kind, key), hex(sealed.digest))
    this.#noteKeptInputs(kind, key, inputs)
    return before === null
  }

  #noteKeptInputs(kind: EntryKind, key: string, inputs: string | null): void {
    if (inputs !== null) noteInputs(this.world.sql, this.version, formatRef(kind, key), JSON.parse(inputs))
  }

  /** Takes an entry away. Answers false when there was none. */
  remove(kind: EntryKind, key: string): boolean {
    const before = this.#retire(kind, key)
    if (before === null) return false
    this.world.sql.exec('DELETE FROM entries WHERE kind = ? AND key = ?', kind, key)
    this.#count(kind, -1, -before.size)
    this.#changed(formatRef(kind, key), null)
    return true
  }

  /** Records an operation that found nothing to change. */
  untouched(ref: string): void {
    this.#changed(ref, null)
  }

  /** Keeps what the entry was, unless this very commit wrote it: between two versions there is nothing to go back to. */
  #retire(kind: EntryKind, key: string): { size: number } | null {
    const { sql } = this.world
    const row = sql
      .exec<{ since: number; size: number }>(
        'SELECT since, size FROM entries WHERE kind = ? AND key = ?',
        kind,
        key,
      )
      .toArray()[0]
    if (!row) return null
    if (row.since < this.version) {
      sql.exec(
        `INSERT INTO past (kind, key, since, until, inputs, value, blob, size, salt, digest)
         SELECT kind, key, since, ?, inputs, value, blob, size, salt, digest FROM entries WHERE kind = ? AND key = ?`,
        this.version,
        kind,
        key,
      )
    }
    return row
  }

  #write(
    kind: EntryKind,
    key: string,
    { text, blob, size, salt, digest }: Sealed,
    inputs: string | null,
  ): void {
    this.world.sql.exec(
      `INSERT INTO entries (kind, key, since, inputs, value, blob, size, salt, digest)
       VALUES (?, ?, ?, ?, jsonb(?), ?, ?, ?, ?) ON CONFLICT (kind, key) DO UPDATE SET ${overwrite}`,
      kind,
      key,
      this.version,
      inputs,
      text,
      blob,
      size,
      salt,
      digest,
    )
  }

  #seal(value: Value): Sealed {
    if (typeof value !== 'string') return { text: null, ...value }
    const salt = saltOf(hashes, this.world.saltKey, value)
    return {
      text: value,
      blob: null,
      size: Buffer.byteLength(value),
      salt,
      digest: valueDigest(hashes, salt, value),
    }
  }

  #sealEvent({ type, lane, payload, key, parent }: NewEvent): Sealed {
    if (typeof payload !== 'string') return { text: null, ...payload }
    const text = eventValue({ type, lane, payload, key, parent })
    const salt = saltOf(hashes, this.world.saltKey, text)
    return {
      text: payload,
      blob: null,
      size: Buffer.byteLength(payload),
      salt,
      digest: valueDigest(hashes, salt, text),
    }
  }

  #inputs(): string | null {
    return this.#from === undefined || this.#from.length === 0 ? null : JSON.stringify(this.#from)
  }

  #changed(ref: string, digest: string | null): void {
    const from = this.#from
    if (this.#room) this.#charge(this.#room, ref.length + this.#fromChars, from?.length ?? 0)
    this.changes.set(
      ref,
      from === undefined ? { op: this.#op, ref, digest } : { op: this.#op, ref, digest, from },
    )
    if (from !== undefined && digest !== null) noteInputs(this.world.sql, this.version, ref, from)
  }

  #charge(room: { changes: number; chars: number }, chars: number, inputs: number): void {
    room.changes -= 1 + inputs
    room.chars -= chars
    if (room.changes < 0)
      throw new Refusal('too_large', `one commit may touch ${limits.changes} entries and inputs`, {
        limit: limits.changes,
      })
    if (room.chars < 0)
      throw new Refusal('too_large', `the names in one commit may have ${limits.changeChars} characters`, {
        limit: limits.changeChars,
      })
  }

  #count(kind: EntryKind, entries: number, bytes: number): void {
    const counter = counted[kind]
    if (counter !== null) this.counts[counter] += entries
    this.counts.bytes += bytes
  }
}
