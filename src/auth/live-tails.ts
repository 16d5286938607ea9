// A live tail is checked once, when it opens, and may stay open for days. So the fleet remembers under which ids a
// session has tails, and tells that session when one of them is revoked: from a table, so that a session which does
// not answer is told again.

import type { Env } from '../env.ts'

/** What a session object does when it is told: end every tail with one of these ids in its principal's chain. */
export interface RevocationListener {
  revoked(ids: string[]): Promise<void>
}

/** Remembers that a session has a tail under each of these ids. Opening it again writes nothing. */
export function rememberTail(
  sql: SqlStorage,
  ids: readonly string[],
  session: string,
  expiresAt: number | null,
  now: number,
): void {
  // By the day, so that a key's tails, which have no end, are written once a day and not each time.
  const until = Math.ceil((expiresAt ?? now + LONGEST_TAIL) / DAY) * DAY
  sql.exec(
    `INSERT INTO tails (id, session, expires_at) SELECT value, ?, ? FROM json_each(?) WHERE true
     ON CONFLICT (id, session) DO UPDATE SET expires_at = excluded.expires_at
     WHERE excluded.expires_at > tails.expires_at`,
    session,
    until,
    JSON.stringify(ids),
  )
}

/** Makes a notice for each session that has a tail under `id`; false when there is none. */
export function queueNotices(sql: SqlStorage, id: string, now: number): boolean {
  const queued = sql
    .exec(
      `INSERT INTO notices (session, id, due, attempts) SELECT session, id, ?, 0 FROM tails WHERE id = ?
       ON CONFLICT (session, id) DO NOTHING RETURNING session`,
      now,
      id,
    )
    .toArray()
  sql.exec('DELETE FROM tails WHERE id = ?', id)
  return queued.length > 0
}

/** Delivers a batch of the notices that are due. Never throws: a session that fails is due again, later each time. */
export async function deliverNotices(sql: SqlStorage, env: Env, fleet: string): Promise<void> {
  const due = sql
    .exec<{ session: string; id: string }>(
      'SELECT session, id FROM notices WHERE due <= ? ORDER BY due LIMIT ?',
      Date.now(),
      BATCH,
    )
    .toArray()
  const bySession = Map.groupBy(due, ({ session }) => session)
  await Promise.all(
    Array.from(bySession, async ([session, notices]) => {
      const ids = notices.map(({ id }) => id)
      const told = await tell(env, fleet, session, ids)
      if (told) settle(sql, session, ids)
      else postpone(sql, session, ids)
    }),
  )
}

/** Epoch ms when the next notice is due; null when there is none. */
export function nextNotice(sql: SqlStorage): number | null {
  return sql.exec<{ due: number | null }>('SELECT min(due) AS due FROM notices').one().due
}

export function forgetExpiredTails(sql: SqlStorage, now: number, atMost: number): void {
  sql.exec(
    `DELETE FROM tails WHERE (id, session) IN
       (SELECT id, session FROM tails WHERE expires_at <= ? LIMIT ?)`, // tails_expiry
    now,
    atMost,
  )
}

const DAY = 86_400_000
/** No connection outlives the releases of a month. */
const LONGEST_TAIL = 30 * DAY
const BATCH = 100
/** The last attempt is some two hours after the first. A session that is gone for so long has no open tail. */
const MAX_ATTEMPTS = 12
const FIRST_DELAY = 2_000

async function tell(env: Env, fleet: string, session: string, ids: string[]): Promise<boolean> {
  try {
    // A stub a call: one that has thrown may be broken.
    const listener: RevocationListener = env.SESSION.get(env.SESSION.idFromName(`${fleet}/${session}`))
    await listener.revoked(ids)
    return true
  } catch {
    return false
  }
}

function settle(sql: SqlStorage, session: string, ids: readonly string[]): void {
  sql.exec(
    'DELETE FROM notices WHERE session = ? AND id IN (SELECT value FROM json_each(?))',
    session,
    JSON.stringify(ids),
  )
}

function postpone(sql: SqlStorage, session: string, ids: readonly string[]): void {
  const list = JSON.stringify(ids)
  sql.exec(
    `UPDATE notices SET attempts = attempts + 1, due = ? + (? << attempts)
     WHERE session = ? AND id IN (SELECT value FROM json_each(?))`,
    Date.now(),
    FIRST_DELAY,
    session,
    list,
  )
  sql.exec('DELETE FROM notices WHERE session = ? AND attempts >= ?', session, MAX_ATTEMPTS)
}
