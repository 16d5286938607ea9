// Taking a world in: rows come part by part into an object that has no session yet, and become one in a single last step. Until
// then nobody sees them, and dropping them leaves nothing.

import { ulid } from 'ulid'
import { hex, saltKeyOf, unhex } from '../../crypto.ts'
import { type Failure, fail, type Outcome } from '../../protocol/errors.ts'
import type { SessionShown } from '../../protocol/resources.ts'
import { earlierAnswer, keepAnswer } from '../answers.ts'
import type {
  Founding,
  Part,
  StagedCommit,
  StagedEntry,
  StagedEvent,
  StagedMore,
  StagedPast,
} from '../archive-rpc.ts'
import { holdBlobs, references } from '../blobs.ts'
import { rebuildDerived } from '../derived.ts'
import { noLease } from '../lease.ts'
import { show } from '../lifecycle.ts'
import type { Caller } from '../rpc.ts'
import type { World } from '../world.ts'
import { recordCut } from './active.ts'

/** How long nothing may come before what came is dropped: longer than the slowest blob takes. */
export const stageLifeMs = 3_600_000

interface Mark {
  stage: string
  /** When the last part came. */
  at: number
}

type Imported = { version: number; session: SessionShown }

/** Begins; whoever began before and did not finish has been cut off, or is overtaken. */
export function stageBegin(
  world: World,
  caller: Caller,
  { stage, overEmpty }: { stage: string; overEmpty: boolean },
  now: number,
): Outcome<{ done: Imported | null }> {
  if (world.state === 'live' || world.state === 'deleted') {
    const closed = world.closed()
    if (closed) return closed
    const earlier = earlierAnswer<Imported>(world, caller.idempotency)
    const replaced = earlier === null && overEmpty && world.head.version === 0
    if (earlier === null && !replaced) return fail('exists', 'there is a session of this name')
    if (earlier !== null)
      return earlier.ok ? { ok: true, done: { version: earlier.version, session: earlier.session } } : earlier
  }
  world.vacate()
  world.stage(markText({ stage, at: now }))
  return { ok: true, done: null }
}

/** When a world that is being taken in is given up; null when none is. */
export function stageDue(world: World): number | null {
  return world.state === 'staged' ? markOf(world).at + stageLifeMs : null
}

/** Why a part cannot be taken in, or null. */
export function stageProblem(world: World, stage: string): Failure | null {
  if (world.state === 'live' || world.state === 'deleted')
    return world.closed() ?? fail('exists', 'there is a session of this name')
  if (world.state === 'new' || markOf(world).stage !== stage)
    return fail('in_flight', 'another import of this name has begun since, or this one was given up')
  return null
}

/** Takes one part in. A second row of one name is refused, never put in place of the first. */
export function stagePart(world: World, stage: string, part: Part, now: number): Outcome<object> {
  return world.storage.transactionSync((): Outcome<object> => {
    world.setMeta('stage', markText({ stage, at: now }))
    if ('blobs' in part) {
      const twice = part.blobs.find(({ sha256 }) => has(world.sql, 'blobs', 'sha256 = ?', sha256))
      if (twice) return fail('invalid', `blobs/${twice.sha256} comes twice`)
      holdBlobs(world, part.blobs, now)
    } else if ('entries' in part) for (const entry of part.entries) insertEntry(world.sql, entry)
    else if ('events' in part) for (const event of part.events) insertEvent(world, event)
    else if ('past' in part) for (const past of part.past) insertPast(world.sql, past)
    else {
      for (const commit of part.commits) insertCommit(world.sql, commit)
      for (const more of part.more) insertMore(world.sql, more)
    }
    return { ok: true }
  })
}

function has(sql: SqlStorage, table: 'blobs', where: string, ...values: SqlStorageValue[]): boolean {
  return sql.exec(`SELECT 1 FROM ${table} WHERE ${where}`, ...values).toArray().length > 0
}

function insertEntry(sql: SqlStorage, entry: StagedEntry): void {
  const { kind, key, since, inputs, text, blob, size, salt, digest } = entry
  sql.exec(
    'INSERT INTO entries (kind, key, since, inputs, value, blob, size, salt, digest) VALUES (?, ?, ?, ?, jsonb(?), ?, ?, ?, ?)',
    kind,
    key,
    since,
    inputs,
    text,
    blob,
    size,
    salt,
    digest,
  )
}

function insertPast(sql: SqlStorage, past: StagedPast): void {
  const { kind, key, since, until, inputs, text, blob, size, salt, digest } = past
  sql.exec(
    'INSERT INTO past (kind, key, since, until, inputs, value, blob, size, salt, digest) VALUES (?, ?, ?, ?, ?, jsonb(?), ?, ?, ?, ?)',
    kind,
    key,
    since,
    until,
    inputs,
    text,
    blob,
    size,
    salt,
    digest,
  )
}

function insertEvent(world: World, event: StagedEvent): void {
  const { seq, version, at, actor, type, lane, key, parent, call, inputs, origin, cut } = event
  const { text, blob, size, salt, digest } = event
  world.sql.exec(
    `INSERT INTO events (seq, version, at, actor, type, lane, key, parent, call, inputs, origin, value, blob, size, salt, digest)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, jsonb(?), ?, ?, ?, ?)`,
    seq,
    version,
    at,
    actor,
    type,
    lane,
    key,
    parent,
    call,
    inputs,
    origin,
    text,
    blob,
    size,
    salt,
    digest,
  )
  if (cut !== null) recordCut(world, seq, cut)
}

function insertCommit(sql: SqlStorage, commit: StagedCommit): void {
  const { version, at, actor, message, cause, digest, seq, changes } = commit
  const { states, files, memories, rows, bytes } = commit
  sql.exec(
    `INSERT INTO commits (version, at, actor, epoch, held_at, message, cause, digest, changes, seq, states, files, memories, rows, bytes)
     VALUES (?, ?, ?, 0, 0, ?, ?, ?, jsonb(?), ?, ?, ?, ?, ?, ?)`,
    version,
    at,
    actor,
    message,
    cause,
    digest,
    changes,
    seq,
    states,
    files,
    memories,
    rows,
    bytes,
  )
}

function insertMore(sql: SqlStorage, { version, part, changes }: StagedMore): void {
  sql.exec(
    'INSERT INTO more_changes (version, part, changes) VALUES (?, ?, jsonb(?))',
    version,
    part,
    changes,
  )
}

/** The last step: from here on there is a session. */
export function stageEnd(
  world: World,
  caller: Caller,
  founding: Founding,
  digestSecret: string,
): Outcome<Imported> {
  const problem = worldProblem(world.sql, founding)
  if (problem !== null) return fail('invalid', problem)
  const { fleet, session, title, labels, created_at, updated_at, expires_at, origin, ancestry, floor } =
    founding
  world.open(
    {
      fleet,
      session,
      title,
      labels,
      created_at,
      updated_at,
      expires_at,
      retention: { versions: null, days: null },
      origin,
      ancestry,
      family: founding.family ?? ulid().toLowerCase(),
      floor,
      salt_key: hex(saltKeyOf(digestSecret, fleet)),
    },
    () => {
      settleHead(world.sql, founding)
      // The catalog may tell of bytes that were erased since.
      if (founding.restored) world.sql.exec(`DELETE FROM blobs WHERE sha256 NOT IN (${references})`)
      if (founding.pruned > 0) world.setMeta('pruned', String(founding.pruned))
      if (founding.epoch > 0) world.setMeta('lease', JSON.stringify({ ...noLease, epoch: founding.epoch }))
      addKnown(world, founding)
      rebuildDerived(world)
    },
  )
  const answer = { version: world.head.version, session: show(world) }
  keepAnswer(world, caller.idempotency, answer, Date.now())
  return { ok: true, ...answer }
}

/** What is wrong with the world as a whole; null when nothing is. */
function worldProblem(sql: SqlStorage, { events, entries, restored }: Founding): string | null {
  const first = (query: string): string | undefined => sql.exec<{ name: string }>(query).toArray()[0]?.name
  const count = (table: string): number =>
    sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n
  if (count('events') !== events || count('entries') !== entries)
    return 'lares.json tells another number of entries or events'
  const lost = first(
    `SELECT sha256 AS name FROM (${references}) WHERE sha256 IS NOT NULL AND sha256 NOT IN (SELECT sha256 FROM blobs) LIMIT 1`,
  )
  if (lost !== undefined) return `blobs/${lost} is missing`
  const unused = first(`SELECT sha256 AS name FROM blobs WHERE sha256 NOT IN (${references}) LIMIT 1`)
  if (unused !== undefined && restored === false) return `blobs/${unused} is named by nothing`
  const misfit = first(
    `SELECT f.key AS name FROM (
       SELECT key, value FROM entries WHERE kind = 'file' UNION ALL SELECT key, value FROM past WHERE kind = 'file'
     ) AS f JOIN blobs AS b ON b.sha256 = f.value ->> '$.blob' WHERE b.size <> f.value ->> '$.size' LIMIT 1`,
  )
  return misfit === undefined ? null : `file:${misfit} does not have the size of its blob`
}

/** What the newest commit says of the world is counted, not believed; where no journal came, the commit is made here. */
function settleHead(sql: SqlStorage, { version, digest, events, commit }: Founding): void {
  const counts = sql
    .exec<{ states: number; files: number; memories: number; rows: number; bytes: number }>(
      `SELECT count(*) FILTER (WHERE kind = 'state') AS states, count(*) FILTER (WHERE kind = 'file') AS files,
         count(*) FILTER (WHERE kind = 'memory') AS memories, count(*) FILTER (WHERE kind = 'row') AS rows,
         coalesce(sum(size), 0) + (SELECT coalesce(sum(size), 0) FROM events) AS bytes FROM entries`,
    )
    .one()
  if (commit !== null) {
    insertCommit(sql, { version, ...commit, digest: unhex(digest), seq: events, ...counts, changes: '[]' })
    return
  }
  const { states, files, memories, rows, bytes } = counts
  sql.exec(
    'UPDATE commits SET states = ?, files = ?, memories = ?, rows = ?, bytes = ? WHERE version = ?',
    states,
    files,
    memories,
    rows,
    bytes,
    version,
  )
}

function addKnown({ sql }: World, { snapshots, children }: Founding): void {
  for (const one of snapshots) {
    sql.exec(
      `INSERT INTO snapshots (name, version, root, entries, events, bytes, pages, pages_written, created_at, actor, message)
       VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, '', ?)`,
      one.name,
      one.version,
      one.root,
      one.entries,
      one.events,
      one.bytes,
      one.pages,
      one.created_at,
      one.message,
    )
  }
  for (const { session, version } of children)
    sql.exec('INSERT INTO children (session, version, settled, begun) VALUES (?, ?, 1, 0)', session, version)
}

function markOf(world: World): Mark {
  return JSON.parse(world.meta('stage') ?? '{"stage":"","at":0}')
}

function markText(mark: Mark): string {
  return JSON.stringify(mark)
}
