// One object a fleet: which API keys it has (hashed) and what was revoked. It stands on nobody's hot path: isolates
// keep a view of it (fleet-view.ts) and ask here only for what changed since their cursor.

import { DurableObject } from 'cloudflare:workers'
import type { Env } from '../env.ts'
import { createTables, hasTables } from './fleet-schema.ts'
import { deliverNotices, forgetExpiredTails, nextNotice, queueNotices, rememberTail } from './live-tails.ts'
import { DEFAULT_FLEET, isId } from './names.ts'
import { MAX_EXPIRES_IN } from './tokens.ts'

export interface NewKey {
  readonly id: string
  /** SHA-256 of the whole key, in hex. */
  readonly hash: string
  readonly label: string | null
  /** Epoch ms. */
  readonly created_at: number
}

export interface FleetDescription {
  readonly name: string
  /** Epoch ms. */
  readonly created_at: number
  readonly keys: { id: string; label: string | null; created_at: number }[]
}

/** What changed after a cursor, in order. */
export interface Changes {
  readonly exists: boolean
  readonly cursor: number
  /** The cursor was none of ours: forget everything, this begins anew. */
  readonly reset: boolean
  /** There is more after `cursor`: ask again. */
  readonly more: boolean
  readonly keys: { id: string; hash: string }[]
  /** Ids of keys and tokens alike; `expires_at` (epoch ms) is when the id can be forgotten. */
  readonly revoked: { id: string; expires_at: number }[]
}

export class Fleet extends DurableObject<Env> {
  #exists: boolean
  #pruneAfter = 0

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env)
    this.#exists = hasTables(ctx.storage.sql)
  }

  /** Makes the fleet; again is no error. */
  create(name: string): { created: boolean } {
    if (this.#exists) return { created: false }
    this.#make(name)
    return { created: true }
  }

  /** The fleet and its keys without their hashes; null when it does not exist. */
  describe(): FleetDescription | null {
    if (!this.#exists) return null
    const { name, created_at } = this.#row()
    const keys = this.#sql
      .exec<FleetDescription['keys'][number]>('SELECT id, label, created_at FROM keys ORDER BY id')
      .toArray()
    return { name, created_at, keys }
  }

  /** False when the fleet does not exist. */
  addKey(key: NewKey): { added: boolean } {
    if (!this.#open()) return { added: false }
    this.#sql.exec(
      'INSERT INTO keys (id, hash, label, created_at, seq) VALUES (?, ?, ?, ?, ?)',
      key.id,
      key.hash,
      key.label,
      key.created_at,
      this.#nextSeq(),
    )
    return { added: true }
  }

  /**
   * Voids an id and all that was minted under it, and has every live tail under it told.
   *
   * @param expiresAt epoch ms when a token's id may be forgotten; null deletes a key. A key is not revoked as a token:
   * whoever may revoke tokens may not thereby take a fleet's keys away. False when there was nothing to revoke.
   */
  async revoke(id: string, expiresAt: number | null): Promise<{ revoked: boolean }> {
    if (!this.#open()) return { revoked: false }
    const isKey = this.#sql.exec('SELECT 1 FROM keys WHERE id = ?', id).toArray().length > 0
    if (isKey !== (expiresAt === null)) return { revoked: false }
    const now = Date.now()
    // A key's row is gone for good; its revocation is there to reach the views, and they are younger than any token.
    const until = expiresAt ?? now + MAX_EXPIRES_IN * 1000 + PRUNE_EVERY
    if (until <= now) return { revoked: true }
    if (isKey) this.#sql.exec('DELETE FROM keys WHERE id = ?', id)
    this.#sql.exec(
      'INSERT INTO revoked (id, expires_at, seq) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING',
      id,
      until,
      this.#nextSeq(),
    )
    if (queueNotices(this.#sql, id, now)) await this.ctx.storage.setAlarm(now + 1)
    return { revoked: true }
  }

  /** What changed after `cursor` (0: everything). Creates nothing, so asking about any name is free of trace. */
  sync(cursor: number): Changes {
    if (!this.#exists) {
      return { exists: this.#isDefault(), cursor: 0, reset: cursor > 0, more: false, keys: [], revoked: [] }
    }
    this.#prune(Date.now())
    const { seq } = this.#row()
    // Storage can be brought back to an earlier time; a view from after that time knows what never was.
    const reset = cursor > seq
    const rows = this.#sql
      .exec<{ seq: number; id: string; hash: string | null; expires_at: number }>(
        `SELECT seq, id, hash, 0 AS expires_at FROM keys WHERE seq > ?1
         UNION ALL SELECT seq, id, NULL, expires_at FROM revoked WHERE seq > ?1
         ORDER BY seq LIMIT ?2`, // keys_seq, revoked_seq
        reset ? 0 : cursor,
        PAGE + 1,
      )
      .toArray()
    const more = rows.length > PAGE
    const page = more ? rows.slice(0, PAGE) : rows
    const answer: Changes = {
      exists: true,
      cursor: more ? (page.at(-1)?.seq ?? seq) : seq,
      reset,
      more,
      keys: [],
      revoked: [],
    }
    for (const { id, hash, expires_at } of page) {
      if (hash === null) answer.revoked.push({ id, expires_at })
      else answer.keys.push({ id, hash })
    }
    return answer
  }

  /**
   * A session calls this when a live tail begins, so that a revocation finds it. Answers whether the principal still
   * stands: the door that let it in may not have heard yet.
   *
   * @param chain the principal's chain @param expiresAt epoch ms, null for a key
   */
  tailOpened(chain: string[], session: string, expiresAt: number | null): { revoked: boolean } {
    const ids = chain.filter(isId) // the root key's mark is never revoked
    if (ids.length === 0) return { revoked: false }
    if (!this.#open()) return { revoked: true }
    const list = JSON.stringify(ids)
    const gone = this.#sql
      .exec('SELECT 1 FROM revoked WHERE id IN (SELECT value FROM json_each(?)) LIMIT 1', list)
      .toArray()
    if (gone.length > 0) return { revoked: true }
    rememberTail(this.#sql, ids, session, expiresAt, Date.now())
    return { revoked: false }
  }

  /** Tells the sessions that have tails under revoked ids; what fails is due again later. */
  override async alarm(): Promise<void> {
    await deliverNotices(this.#sql, this.env, this.#row().name)
    const due = nextNotice(this.#sql)
    // +1: an alarm that is set for now inside an alarm stalls.
    if (due !== null) await this.ctx.storage.setAlarm(Math.max(due, Date.now() + 1))
  }

  get #sql(): SqlStorage {
    return this.ctx.storage.sql
  }

  // By the id, which is a function of the name: an object is not always told its own name.
  #isDefault(): boolean {
    return this.ctx.id.equals(this.env.FLEET.idFromName(DEFAULT_FLEET))
  }

  /** True when the fleet is there to be written to; the default fleet comes to be when it is. */
  #open(): boolean {
    if (!this.#exists && this.#isDefault()) this.#make(DEFAULT_FLEET)
    return this.#exists
  }

  #make(name: string): void {
    createTables(this.#sql, name, Date.now())
    this.#exists = true
  }

  #row(): { name: string; created_at: number; seq: number } {
    return this.#sql
      .exec<{ name: string; created_at: number; seq: number }>('SELECT name, created_at, seq FROM fleet')
      .one()
  }

  // Counted, not the greatest seq in use: that one can be deleted, and a view would miss what takes it next.
  #nextSeq(): number {
    return this.#sql.exec<{ seq: number }>('UPDATE fleet SET seq = seq + 1 RETURNING seq').one().seq
  }

  // Bounded and seldom, because it rides on a read.
  #prune(now: number): void {
    if (now < this.#pruneAfter) return
    this.#pruneAfter = now + PRUNE_EVERY
    this.#sql.exec(
      'DELETE FROM revoked WHERE id IN (SELECT id FROM revoked WHERE expires_at <= ? LIMIT ?)', // revoked_expiry
      now,
      PRUNE_AT_MOST,
    )
    forgetExpiredTails(this.#sql, now, PRUNE_AT_MOST)
  }
}

/** Changes an answer: far below what one RPC may carry. */
const PAGE = 10_000
const PRUNE_EVERY = 60_000
const PRUNE_AT_MOST = 500
