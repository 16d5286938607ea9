// Activity over all sessions of a fleet: their commits, oldest to newest. Time is only a label, so ties and a session's own
// order are settled by session and version.

import { and, asc, eq, gt, isNull, or, type SQL, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/d1'
import type { Json } from '../protocol/canonical.ts'
import { limits } from '../protocol/limits.ts'
import { fillPage, type Listed } from './page.ts'
import { commits, sessions } from './schema.ts'
import { narrowTo, type Visible } from './visible.ts'

export interface FleetCommit {
  session: string
  version: number
  /** How far the session's history in the catalog reaches. */
  projected_version: number
  at: string
  actor: string
  message: string | null
  cause: Json
  digest: string
  ops: { op: string; ref: string }[]
  /** Present when the commit has more operations than are listed here; the session itself has them all. */
  ops_more?: true
}

export interface FleetCommitQuery {
  limit: number
  /** The `next` of the page before. */
  after?: string | null | undefined
  visible: Visible
  /** Epoch milliseconds: what has expired by now is not listed. */
  now?: number | undefined
}

/**
 * One page of a fleet's commits by `(at, session, version)`. A session whose outbox comes late adds commits behind a position
 * that was already given; `projected_version` against the session's own `version` tells.
 */
export async function listFleetCommits(
  database: D1Database,
  fleet: string,
  query: FleetCommitQuery,
): Promise<Listed<FleetCommit>> {
  const after = query.after == null ? null : parsePosition(query.after)
  if (after === null && query.after != null) return { ok: false, code: 'bad_position' }
  const db = drizzle(database)
  const { limit, visible, now = Date.now() } = query
  const wanted = and(
    eq(commits.fleet, fleet),
    eq(sessions.deleted, false),
    or(isNull(sessions.expires_at), gt(sessions.expires_at, now)),
    ...narrowTo(commits.session, visible),
  )
  const { rows, next } = await fillPage<Row, Position>({
    limit,
    after,
    // A commit may list 64 KiB of operations.
    most: 250,
    read: (position, most) =>
      db
        .select(columns)
        .from(commits)
        .innerJoin(sessions, and(eq(sessions.fleet, commits.fleet), eq(sessions.session, commits.session)))
        .where(and(wanted, position === null ? undefined : beyond(position)))
        .orderBy(asc(commits.at), asc(commits.session), asc(commits.version))
        .limit(most),
    keep: (row) => visible.matches(row.session),
    positionOf: ({ at, session, version }) => ({ at, session, version }),
    bytes: {
      of: (row) => row.ops.length + (row.cause?.length ?? 0) + (row.message?.length ?? 0),
      most: limits.pageBytes,
    },
  })
  return { ok: true, items: rows.map(shown), next: next && `${next.at}/${next.version}/${next.session}` }
}

const columns = {
  session: commits.session,
  version: commits.version,
  projected_version: sessions.projected_version,
  at: commits.at,
  actor: commits.actor,
  message: commits.message,
  cause: commits.cause,
  digest: commits.digest,
  ops: commits.ops,
  ops_more: commits.ops_more,
}

type Row = Omit<FleetCommit, 'at' | 'cause' | 'ops' | 'ops_more'> & {
  at: number
  cause: string | null
  ops: string
  ops_more: boolean
}

function shown({ ops_more, ...row }: Row): FleetCommit {
  // Both texts are the object's own: it made them from checked values.
  return {
    ...row,
    at: new Date(row.at).toISOString(),
    cause: row.cause === null ? null : (JSON.parse(row.cause) as Json),
    ops: JSON.parse(row.ops) as FleetCommit['ops'],
    ...(ops_more ? { ops_more } : {}),
  }
}

interface Position {
  at: number
  session: string
  version: number
}

/** One seek on `commits_by_time`. */
function beyond({ at, session, version }: Position): SQL {
  return sql`(${commits.at}, ${commits.session}, ${commits.version}) > (${at}, ${session}, ${version})`
}

function parsePosition(text: string): Position | null {
  const [, at, version, session] = /^(\d{1,15})\/(\d{1,15})\/(.+)$/s.exec(text) ?? []
  if (at === undefined || version === undefined || session === undefined) return null
  return { at: Number(at), version: Number(version), session }
}
