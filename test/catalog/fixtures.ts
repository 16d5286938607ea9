// Histories to project, and the catalog's tables as a test can compare them.

import { env } from 'cloudflare:workers'
import type { ProjectionBatch, SessionRow } from '../../src/catalog/batch.ts'
import { project } from '../../src/catalog/project.ts'
import type { Visible } from '../../src/catalog/visible.ts'

export const db = env.CATALOG

/** One operation of a commit; a value of undefined takes the entry away. */
export type Step = { event: string } | { kind: string; key: string; value: string | undefined }

/** What each version did, version 1 first. */
export type History = readonly (readonly Step[])[]

let fleets = 0

/** Tests share one database: each works in a fleet of its own. */
export function newFleet(): string {
  return `fleet-${++fleets}-${crypto.randomUUID().slice(0, 8)}`
}

export const everything: Visible = { pattern: '*', matches: () => true }

/** What auth does with a pattern, in the plainest way. */
export function seeing(pattern: string): Visible {
  const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const regex = new RegExp(`^${parts.join('.*')}$`)
  return { pattern, matches: (session) => regex.test(session) }
}

export function rowAt(version: number, change: Partial<SessionRow> = {}): SessionRow {
  return {
    title: null,
    labels: {},
    created_at: 1000,
    updated_at: 1000 + version,
    expires_at: null,
    origin: null,
    head_version: version,
    digest: `commit-${version}`,
    ...change,
  }
}

/** The part of a history that an outbox would send for the versions `from` to `to`. */
export function batchOf(
  fleet: string,
  session: string,
  history: History,
  from = 1,
  to = history.length,
  row: SessionRow = rowAt(to),
): ProjectionBatch {
  const commits: ProjectionBatch['commits'][number][] = []
  const events: ProjectionBatch['events'][number][] = []
  const changes: ProjectionBatch['changes'][number][] = []
  let seq = 0
  for (const [i, steps] of history.entries()) {
    const version = i + 1
    const at = 1000 + version
    const sent = version >= from && version <= to
    if (sent) {
      const ops = JSON.stringify(
        steps.map((step) => ({ op: 'op', ref: 'event' in step ? 'log:1' : step.key })),
      )
      commits.push({ version, at, actor: 'me', message: null, cause: null, digest: `commit-${version}`, ops })
    }
    for (const step of steps) {
      if ('event' in step) {
        seq += 1
        if (sent) events.push(eventOf(step.event, seq, version, at))
      } else if (sent) {
        const { kind, key, value } = step
        const digest = value === undefined ? null : `value-${value}`
        changes.push({
          kind,
          key,
          version,
          value: value ?? null,
          blob: null,
          size: value?.length ?? 0,
          digest,
        })
      }
    }
  }
  return { fleet, session, row, from, to, commits, events, changes }
}

function eventOf(payload: string, seq: number, version: number, at: number) {
  const rest = { actor: 'me', type: 'message', lane: 'main', key: null, parent: null, blob: null }
  return { seq, version, at, payload, size: payload.length, digest: `event-${seq}`, ...rest }
}

/** A session with nothing in it but its row. */
export async function addSession(
  fleet: string,
  session: string,
  row: Partial<SessionRow> = {},
): Promise<void> {
  await project(db, batchOf(fleet, session, [[{ event: '1' }]], 1, 1, rowAt(1, row)))
}

export const tables = ['sessions', 'session_labels', 'commits', 'events', 'entries'] as const

/** Every row of a fleet, without the names of fleet and session, so that two of them can be compared. */
export async function contents(fleet: string, session: string): Promise<Record<string, unknown[]>> {
  const found: Record<string, unknown[]> = {}
  for (const table of tables) {
    const { results } = await db
      .prepare(`SELECT * FROM ${table} WHERE fleet = ? AND session = ?`)
      .bind(fleet, session)
      .all()
    found[table] = results.map(({ fleet: _, session: __, ...row }) => row)
  }
  return found
}
