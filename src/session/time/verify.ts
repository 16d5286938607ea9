// Verify: recomputes what the world says of itself, in bounded steps, and names what does not match. A step looks at a part of one
// table; where it stopped is its cursor, so that a large world is verified in as many steps as it takes.

import { hashes, hex } from '../../crypto.ts'
import type { Env } from '../../env.ts'
import type { Canonical } from '../../protocol/canonical.ts'
import {
  type Change,
  changeLine,
  commitDigest,
  eventValue,
  genesis,
  valueDigest,
} from '../../protocol/digests.ts'
import { type EntryKind, formatRef } from '../../protocol/refs.ts'
import { isErased } from '../erased.ts'
import { type CommitRow, changesOf, commitColumns } from '../history.ts'
import { type EventRow, eventColumns } from '../read-log.ts'
import { type Found, type VerifyCursor, type VerifyPhase, type VerifyStep, verifyPhases } from '../rpc.ts'
import { type Entry, entryColumns, placeOf } from '../store.ts'
import { rfc3339 } from '../time.ts'
import type { World } from '../world.ts'
import { eraseOperation } from './erased-ref.ts'
import { splitRef } from './journal.ts'
import { verifyBlobs } from './verify-blobs.ts'
import { verifySnapshots } from './verify-snapshots.ts'

/** What one step may look at. */
const rowsPerStep = 2000
const bytesPerStep = 16 * 1024 * 1024

export class Tally {
  checked = 0
  erased = 0
  readonly problems: Found[] = []

  check(ok: boolean, ref: string, problem: string): void {
    this.checked++
    if (!ok) this.problems.push({ ref, problem })
  }
}

export async function verifyStep(
  world: World,
  env: Env,
  { phase, after }: VerifyCursor,
): Promise<VerifyStep> {
  const tally = new Tally()
  const place = await run(world, env, tally, phase, after)
  const { checked, erased, problems } = tally
  const later = verifyPhases[verifyPhases.indexOf(phase) + 1]
  const next =
    place !== null ? { phase, after: place } : later === undefined ? null : { phase: later, after: [] }
  return { checked, erased, problems, next }
}

/** Answers where the phase goes on, or null when it is over. */
function run(world: World, env: Env, tally: Tally, phase: VerifyPhase, after: (string | number)[]) {
  switch (phase) {
    case 'commits':
      return verifyCommits(world, tally, after)
    case 'events':
      return verifyEvents(world, env, tally, after)
    case 'entries':
    case 'past':
      return verifyEntries(world, env, tally, phase, after)
    case 'blobs':
      return verifyBlobs(world, env, tally, after)
    case 'snapshots':
      return verifySnapshots(world, env, tally, after)
  }
}

async function verifyCommits(
  world: World,
  tally: Tally,
  [last]: (string | number)[],
): Promise<(string | number)[] | null> {
  const { sql, identity } = world
  // The commit a world was restored at has no predecessor here; its digest is taken as given.
  const from = typeof last === 'number' ? last : identity.floor
  const rows = sql
    .exec<CommitRow>(
      `SELECT ${commitColumns} FROM commits WHERE version > ? ORDER BY version LIMIT ?`,
      from,
      rowsPerStep,
    )
    .toArray()
  let previous = digestAt(world, from)
  let version = from
  for (const row of rows) {
    tally.check(row.version === version + 1, `commit ${version + 1}`, 'a version is missing')
    const changes = changesOf(sql, row)
    const header = {
      previous,
      version: row.version,
      at: rfc3339(row.at),
      actor: row.actor,
      message: row.message,
      cause: row.cause === null ? null : JSON.parse(row.cause),
    }
    const digest = hex(row.digest)
    tally.check(
      hex(commitDigest(hashes, header, changes.map(changeLine))) === digest,
      `commit ${row.version}`,
      'the digest does not match',
    )
    for (const change of changes) checkChange(world, tally, change, row.version)
    previous = digest
    version = row.version
  }
  if (rows.length === rowsPerStep) return [version]
  tally.check(
    version === world.head.version && previous === world.head.digest,
    'head',
    'the chain does not end at the head',
  )
  return null
}

/** A commit and the row it wrote must speak of one value. */
function checkChange({ sql, head }: World, tally: Tally, { ref, digest, op }: Change, version: number): void {
  if (digest === null || op === eraseOperation) return
  const { kind, key } = splitRef(ref)
  const row =
    kind === 'log'
      ? sql.exec<{ digest: ArrayBuffer }>('SELECT digest FROM events WHERE seq = ?', Number(key)).toArray()[0]
      : sql
          .exec<{ digest: ArrayBuffer }>(
            `SELECT digest FROM entries WHERE kind = ?1 AND key = ?2 AND since = ?3
             UNION ALL SELECT digest FROM past WHERE kind = ?1 AND key = ?2 AND since = ?3`,
            kind,
            key,
            version,
          )
          .toArray()[0]
  // Retention takes rows of the past away; what it left must match.
  if (row === undefined && kind !== 'log' && version < head.version) return
  tally.check(
    row !== undefined && hex(row.digest) === digest,
    `${ref}@${version}`,
    'the row is not what its commit wrote',
  )
}

async function verifyEvents(world: World, env: Env, tally: Tally, [last = 0]: (string | number)[]) {
  const rows = world.sql
    .exec<EventRow>(
      `SELECT ${eventColumns} FROM events WHERE seq > ? ORDER BY seq LIMIT ?`,
      last,
      rowsPerStep,
    )
    .toArray()
  let bytes = 0
  let expected = Number(last)
  for (const row of rows) {
    const ref = formatRef('log', row.seq)
    tally.check(row.seq === ++expected, ref, 'an event is missing before this one')
    if (isErased(row)) tally.erased++
    else {
      const payload = await wholeText(env, row)
      const { type, lane, key, parent } = row
      const value =
        payload === null
          ? null
          : eventValue({ type, lane, payload, key: key ?? undefined, parent: parent ?? undefined })
      checkValue(tally, ref, row, value)
    }
    bytes += row.size
    if (bytes > bytesPerStep) return [row.seq]
  }
  if (rows.length === rowsPerStep) return [expected]
  tally.check(expected === world.head.seq, 'log', 'the log does not end at its newest event')
  return null
}

async function verifyEntries(
  world: World,
  env: Env,
  tally: Tally,
  table: 'entries' | 'past',
  after: (string | number)[],
) {
  const [kind = '', key = '', since = -1] = after
  const rows = world.sql
    .exec<Entry & { kind: EntryKind }>(
      `SELECT kind, ${entryColumns} FROM ${table} WHERE (kind, key, since) > (?, ?, ?) ORDER BY kind, key, since LIMIT ?`,
      kind,
      key,
      since,
      rowsPerStep,
    )
    .toArray()
  let bytes = 0
  for (const row of rows) {
    const ref = `${formatRef(row.kind, row.key)}@${row.since}`
    if (isErased(row)) tally.erased++
    else checkValue(tally, ref, row, await wholeText(env, row))
    // A file's size is that of its bytes, which another phase looks at.
    if (row.blob !== null || row.kind !== 'file') bytes += row.size
    if (bytes > bytesPerStep) return [row.kind, row.key, row.since]
  }
  const end = rows.at(-1)
  return rows.length === rowsPerStep && end !== undefined ? [end.kind, end.key, end.since] : null
}

function checkValue(
  tally: Tally,
  ref: string,
  row: { salt: ArrayBuffer; digest: ArrayBuffer },
  value: Canonical | null,
): void {
  const found = value === null ? null : hex(valueDigest(hashes, new Uint8Array(row.salt), value))
  tally.check(
    found === hex(row.digest),
    ref,
    value === null ? 'the value does not read back' : 'the digest does not match',
  )
}

type Stored = { text: string | null; blob: string | null; blob_place: string | null }

/** The value's canonical text, from its row or from R2. */
async function wholeText(env: Env, { text, blob, blob_place }: Stored): Promise<Canonical | null> {
  // What was stored was canonical.
  if (text !== null) return text as Canonical
  const place = blob === null ? null : placeOf(blob_place)
  if (place === null) return null
  const object = await env.BLOBS.get(place.key, { range: { offset: place.start, length: place.size } })
  return object === null ? null : ((await object.text()) as Canonical)
}

function digestAt({ sql }: World, version: number): string {
  const row = sql
    .exec<{ digest: ArrayBuffer }>('SELECT digest FROM commits WHERE version = ?', version)
    .toArray()[0]
  return row === undefined ? genesis : hex(row.digest)
}
