// The list of a fleet's sessions: filters, three orders, and pages that continue after a key, never after a count.

import { and, asc, desc, eq, gt, isNull, or, type SQL, sql } from 'drizzle-orm'
import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1'
import type { SessionListed } from '../protocol/resources.ts'
import { fillPage, type Listed } from './page.ts'
import { sessionLabels, sessions } from './schema.ts'
import { narrowTo, startsWith, type Visible } from './visible.ts'

/** `updated` and `created` are newest first, ties by id downwards; `id` is bytewise upwards. */
export type SessionOrder = 'updated' | 'created' | 'id'

export interface SessionQuery {
  /** A session has all of these. */
  labels?: Record<string, string> | undefined
  /** Bytewise. */
  prefix?: string | undefined
  /** Part of the id or of the title, in any case. */
  q?: string | undefined
  /** Epoch milliseconds; later than this. */
  updated_after?: number | undefined
  order: SessionOrder
  limit: number
  /** The `next` of the page before, of the same order. */
  after?: string | null | undefined
  visible: Visible
  /** Epoch milliseconds: what has expired by now is not listed. */
  now?: number | undefined
}

/**
 * One page of a fleet's sessions. In the orders `created` and `id` every session that is there throughout comes exactly once,
 * whatever changes between pages. In `updated` none comes twice, but one that is updated meanwhile moves to the front, out of
 * the pages still to come.
 */
export async function listSessions(
  database: D1Database,
  fleet: string,
  query: SessionQuery,
): Promise<Listed<SessionListed>> {
  const after = query.after == null ? null : parsePosition(query.order, query.after)
  if (after === null && query.after != null) return { ok: false, code: 'bad_position' }
  const db = drizzle(database)
  const wanted = conditions(db, fleet, query)
  const { order, limit, visible } = query
  const { rows, next } = await fillPage<Row, Position>({
    limit,
    after,
    most: 2000,
    read: (position, most) =>
      db
        .select(columns)
        .from(sessions)
        .where(and(...wanted, position === null ? undefined : beyond(order, position)))
        .orderBy(...sortedBy(order))
        .limit(most),
    keep: (row) => visible.matches(row.session),
    positionOf: (row) => ({
      session: row.session,
      time: order === 'created' ? row.created_at : row.updated_at,
    }),
  })
  return { ok: true, items: rows.map(shown), next: next && formatPosition(order, next) }
}

const columns = {
  session: sessions.session,
  version: sessions.version,
  projected_version: sessions.projected_version,
  title: sessions.title,
  labels: sessions.labels,
  created_at: sessions.created_at,
  updated_at: sessions.updated_at,
}

type Row = Omit<SessionListed, 'created_at' | 'updated_at'> & { created_at: number; updated_at: number }

function shown(row: Row): SessionListed {
  return {
    ...row,
    created_at: new Date(row.created_at).toISOString(),
    updated_at: new Date(row.updated_at).toISOString(),
  }
}

function conditions(db: DrizzleD1Database, fleet: string, query: SessionQuery): SQL[] {
  const { labels, prefix, q, updated_after, visible, now = Date.now() } = query
  const all: (SQL | undefined)[] = [
    eq(sessions.fleet, fleet),
    eq(sessions.deleted, false),
    or(isNull(sessions.expires_at), gt(sessions.expires_at, now)),
    ...narrowTo(sessions.session, visible),
    ...startsWith(sessions.session, prefix ?? ''),
    labels && Object.keys(labels).length > 0 ? hasLabels(db, fleet, labels) : undefined,
    updated_after === undefined ? undefined : gt(sessions.updated_at, updated_after),
    q === undefined ? undefined : mentions(q.toLowerCase()),
  ]
  return all.filter((condition) => condition !== undefined)
}

/** Any number of labels in one parameter. A session has one value a key, so as many hits as labels means all of them. */
function hasLabels(db: DrizzleD1Database, fleet: string, labels: Record<string, string>): SQL {
  const pairs = Object.entries(labels)
  const asked = sql`SELECT value ->> 0, value ->> 1 FROM json_each(${JSON.stringify(pairs)})`
  const holders = db
    .select({ session: sessionLabels.session })
    .from(sessionLabels)
    .where(
      and(eq(sessionLabels.fleet, fleet), sql`(${sessionLabels.key}, ${sessionLabels.value}) IN (${asked})`),
    )
    .groupBy(sessionLabels.session)
    .having(sql`count(*) = ${pairs.length}`)
  return sql`${sessions.session} IN ${holders}`
}

function mentions(folded: string): SQL {
  return sql`(instr(lower(${sessions.session}), ${folded}) > 0 OR instr(${sessions.title_folded}, ${folded}) > 0)`
}

// Positions. A time and an id make each order total; comparing both at once is one seek on the order's index.

interface Position {
  session: string
  time: number
}

const timeOf = { updated: sessions.updated_at, created: sessions.created_at }

function sortedBy(order: SessionOrder): SQL[] {
  return order === 'id' ? [asc(sessions.session)] : [desc(timeOf[order]), desc(sessions.session)]
}

function beyond(order: SessionOrder, { session, time }: Position): SQL {
  if (order === 'id') return gt(sessions.session, session)
  return sql`(${timeOf[order]}, ${sessions.session}) < (${time}, ${session})`
}

function formatPosition(order: SessionOrder, { session, time }: Position): string {
  return order === 'id' ? session : `${time}/${session}`
}

function parsePosition(order: SessionOrder, text: string): Position | null {
  if (order === 'id') return { session: text, time: 0 }
  const [, time, session] = /^(\d{1,15})\/(.+)$/s.exec(text) ?? []
  return time === undefined || session === undefined ? null : { session, time: Number(time) }
}
