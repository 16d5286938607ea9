// A world read out for an archive: its blobs, its pages with what their digests do not cover, and its journal, each a bounded part
// a call. A part depends on the version alone, whatever is written meanwhile.

import { hashes, hex } from '../../crypto.ts'
import { fail, type Outcome } from '../../protocol/errors.ts'
import type { EntryKind } from '../../protocol/refs.ts'
import {
  type ArchiveHead,
  archiveFormat,
  type EntryLine,
  type EventLine,
  type PastLine,
  partChars,
} from '../../snapshot/archive.ts'
import { sealManifest } from '../../snapshot/manifest.ts'
import { type PageRef, pageName, writePage } from '../../snapshot/page.ts'
import type { Lines, PageText } from '../archive-rpc.ts'
import type { LocatedBlob } from '../blob-rpc.ts'
import { references } from '../blobs.ts'
import { each, inParts, partRows } from '../each.ts'
import { commitRow } from '../history.ts'
import { updatedAt } from '../lifecycle.ts'
import { seqAt } from '../read-log.ts'
import { type Entry, entryColumns } from '../store.ts'
import { rfc3339 } from '../time.ts'
import type { World } from '../world.ts'
import { itemsOfPage } from './items.ts'
import { pagesAt } from './page-list.ts'

const blobsPerPart = 5000

export function archiveHeadOf(
  world: World,
  version: number,
  journal: boolean,
): { head: ArchiveHead; pages: PageRef[] } {
  const { identity } = world
  const pages = pagesAt(world, version).map(({ kind, first, count, name }) => ({ kind, first, count, name }))
  const commit = commitRow(world.sql, version)
  const countOf = (some: PageRef[]) => some.reduce((sum, { count }) => sum + count, 0)
  return {
    pages,
    head: {
      lares: archiveFormat,
      session: identity.session,
      version,
      digest: commit === undefined ? '0'.repeat(64) : hex(commit.digest),
      root: sealManifest(hashes, { pages }).root,
      title: identity.title,
      labels: identity.labels,
      created_at: rfc3339(identity.created_at),
      updated_at: rfc3339(
        version === world.head.version ? updatedAt(world) : (commit?.at ?? identity.created_at),
      ),
      commit:
        commit === undefined
          ? null
          : {
              at: rfc3339(commit.at),
              actor: commit.actor,
              message: commit.message,
              cause: commit.cause === null ? null : JSON.parse(commit.cause),
            },
      floor: journal ? identity.floor : version,
      // A version that only a snapshot keeps is all that is left of its time.
      pruned: journal ? Math.min(world.pruned, version) : version,
      journal,
      entries: countOf(pages.filter(({ kind }) => kind !== 'log')),
      events: countOf(pages.filter(({ kind }) => kind === 'log')),
    },
  }
}

/** The world's rows as they were at a version, or with all that came before: for statements over `entries`, `past`, `events`. */
const asOf = `WITH
  entries AS (SELECT * FROM main.entries WHERE since <= ?1),
  past AS (SELECT * FROM main.past WHERE since <= ?1 AND (?3 OR until > ?1)),
  events AS (SELECT * FROM main.events WHERE seq <= ?2)`

/** Blobs as they lie in R2, side by side, so that those of one pack are read together. */
export function exportBlobs(
  world: World,
  { version, journal }: ArchiveHead,
  after: SqlStorageValue[] | null,
): Outcome<{ blobs: LocatedBlob[]; next: SqlStorageValue[] | null }> {
  const given = [version, seqAt(world, version), journal ? 1 : 0]
  if (after === null) {
    const lost = world.sql
      .exec<{ sha256: string }>(
        `${asOf} SELECT sha256 FROM (${references}) WHERE sha256 IS NOT NULL AND sha256 NOT IN (SELECT sha256 FROM blobs) LIMIT 1`,
        ...given,
      )
      .toArray()[0]
    if (lost !== undefined) return fail('corrupt', `the blob ${lost.sha256} is missing`)
  }
  const blobs = world.sql
    .exec<LocatedBlob & Record<string, SqlStorageValue>>(
      `${asOf} SELECT sha256, size, key, start FROM blobs
       WHERE (key, start, sha256) > (?4, ?5, ?6) AND sha256 IN (${references})
       ORDER BY key, start, sha256 LIMIT ?7`,
      ...given,
      ...(after ?? ['', -1, '']),
      blobsPerPart,
    )
    .toArray()
  const last = blobs.at(-1)
  return {
    ok: true,
    blobs,
    next: blobs.length < blobsPerPart || last === undefined ? null : [last.key, last.start, last.sha256],
  }
}

export function exportPages(
  world: World,
  { version, journal }: ArchiveHead,
  wanted: readonly PageRef[],
): Outcome<{ pages: PageText[] }> {
  const pages: PageText[] = []
  let chars = 0
  for (const ref of wanted) {
    if (pages.length > 0 && chars > partChars) break
    const items = itemsOfPage(world, ref, version)
    if (items.length !== ref.count || pageName(hashes, ref.kind, items) !== ref.name)
      return fail('corrupt', `the page ${ref.name} does not read back`)
    const page = writePage(items)
    const rows =
      ref.kind === 'log'
        ? eventLines(world, Number(ref.first), ref.count)
        : journal
          ? entryLines(world, ref.kind, items, version)
          : null
    pages.push({ page, rows })
    chars += page.length + (rows?.length ?? 0)
  }
  return { ok: true, pages }
}

type EventMark = {
  version: number
  at: number
  actor: string
  origin: string | null
  to_seq: number | null
  type: string
  lane: string
  parent: number | null
  erased: number
}

function eventLines({ sql }: World, first: number, count: number): string {
  const rows = sql.exec<EventMark>(
    `SELECT version, at, actor, origin, to_seq, type, lane, parent, salt = x'' AS erased
     FROM events LEFT JOIN cuts USING (seq) WHERE seq >= ? ORDER BY seq LIMIT ?`,
    first,
    count,
  )
  let text = ''
  for (const { version, at, actor, origin, to_seq, type, lane, parent, erased } of rows) {
    const line: EventLine = { version, at: rfc3339(at), actor }
    if (origin !== null) line.origin = JSON.parse(origin)
    if (to_seq !== null) line.cut = to_seq
    if (erased) {
      line.type = type
      // What the column holds is one of the two.
      line.lane = lane as 'main' | 'inbox'
      if (parent !== null) line.parent = parent
    }
    text += `${JSON.stringify(line)}\n`
  }
  return text
}

function entryLines(
  { sql }: World,
  kind: EntryKind,
  items: readonly { key: string }[],
  version: number,
): string {
  const keys = JSON.stringify(items.map(({ key }) => key))
  const found = new Map(
    sql
      .exec<{ key: string; since: number }>(
        `SELECT key, since FROM entries WHERE kind = ?1 AND key IN (SELECT value FROM json_each(?2)) AND since <= ?3
         UNION ALL
         SELECT key, since FROM past WHERE kind = ?1 AND key IN (SELECT value FROM json_each(?2)) AND since <= ?3 AND until > ?3`,
        kind,
        keys,
        version,
      )
      .toArray()
      .map(({ key, since }) => [key, since]),
  )
  let text = ''
  for (const { key } of items) {
    const line: EntryLine = { since: found.get(key) ?? 0 }
    text += `${JSON.stringify(line)}\n`
  }
  return text
}

/** What entries were, before the version: also what was still there at it is left out, because a page has it. */
export function exportPast(world: World, { version }: ArchiveHead, after: SqlStorageValue[] | null): Lines {
  const rows = inParts<Entry & { kind: EntryKind; until: number }>(partRows, (last) =>
    world.sql.exec<Entry & { kind: EntryKind; until: number }>(
      `SELECT kind, until, ${entryColumns} FROM past
       WHERE until <= ? AND (kind, key, since) > (?, ?, ?) ORDER BY kind, key, since LIMIT ?`,
      version,
      ...(last === null ? (after ?? ['', '', -1]) : [last.kind, last.key, last.since]),
      partRows,
    ),
  )
  let text = ''
  let count = 0
  for (const { kind, key, since, until, digest, salt, text: value, blob, size, inputs } of rows) {
    const line: PastLine = {
      kind,
      key,
      since,
      until,
      digest: hex(digest),
      salt: hex(salt),
      text: value,
      blob,
      size,
      from: inputs === null ? null : JSON.parse(inputs),
    }
    text += `${JSON.stringify(line)}\n`
    count++
    if (text.length > partChars) return { text, count, next: [kind, key, since] }
  }
  return { text, count, next: null }
}

type JournalRow = {
  version: number
  at: number
  actor: string
  message: string | null
  cause: string | null
  digest: ArrayBuffer
  changes: string
  seq: number
  states: number
  files: number
  memories: number
  rows: number
  bytes: number
  more: number
}

/** @param after the last version, and the last part of its changes when they were not all told */
export function exportCommits(
  { sql }: World,
  { version }: ArchiveHead,
  after: SqlStorageValue[] | null,
): Lines {
  const lines = { text: '', count: 0 }
  const [last = -1, part] = after ?? []
  if (part !== undefined) {
    const next = addMore(sql, lines, Number(last), Number(part))
    if (next !== null) return { ...lines, next }
  }
  const rows = inParts<JournalRow>(partRows, (before) =>
    sql.exec<JournalRow>(
      `SELECT version, at, actor, message, cause, digest, json(changes) AS changes, seq, states, files, memories, rows, bytes,
         EXISTS (SELECT 1 FROM more_changes AS m WHERE m.version = commits.version) AS more
       FROM commits WHERE version > ? AND version <= ? ORDER BY version LIMIT ?`,
      before === null ? last : before.version,
      version,
      partRows,
    ),
  )
  for (const { more, changes, cause, ...row } of rows) {
    const { at, digest, ...rest } = row
    const line = JSON.stringify({ ...rest, at: rfc3339(at), digest: hex(digest) })
    // Spliced in as they are stored: parsing them would cost more than all the rest.
    lines.text += `${line.slice(0, -1)},"cause":${cause ?? 'null'},"changes":${changes}}\n`
    lines.count++
    const next = more ? addMore(sql, lines, row.version, -1) : null
    if (next !== null || lines.text.length > partChars) return { ...lines, next: next ?? [row.version] }
  }
  return { ...lines, next: null }
}

/** Adds further changes of a commit; answers where to go on when not all of them fit. */
function addMore(
  sql: SqlStorage,
  lines: { text: string },
  version: number,
  after: number,
): SqlStorageValue[] | null {
  const parts = sql.exec<{ part: number; changes: string }>(
    'SELECT part, json(changes) AS changes FROM more_changes WHERE version = ? AND part > ? ORDER BY part',
    version,
    after,
  )
  for (const { part, changes } of each(parts)) {
    lines.text += `{"more":${version},"changes":${changes}}\n`
    if (lines.text.length > partChars) return [version, part]
  }
  return null
}

/** Whether something of the version may have been taken away since an export of it began at head `began`. */
export function wasTouched(world: World, head: ArchiveHead, began: number): boolean {
  if (head.journal && Math.min(world.pruned, head.version) !== head.pruned) return true
  const erased = world.sql.exec(
    `SELECT 1 FROM commits, json_each(commits.changes) AS c
     WHERE version > ? AND c.value ->> 0 = 'erase' LIMIT 1`,
    began,
  )
  return erased.toArray().length > 0
}
