// Merge: what the other session changed since both were one, brought over as one commit. Planned first, with all that must be
// awaited; then applied in one step, if nothing the plan speaks of has moved meanwhile.

import { hex } from '../../crypto.ts'
import { type Canonical, canonical } from '../../protocol/canonical.ts'
import { type Failure, fail, type Outcome } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { formatRef } from '../../protocol/refs.ts'
import { judge, type Strategy, settle } from '../../snapshot/merge.ts'
import { holdBlobs } from '../blobs.ts'
import { blobsOf } from '../blobs-present.ts'
import { type Made, toldBefore, transact } from '../commit.ts'
import type { Caller } from '../rpc.ts'
import { currentEntry, entryStamp } from '../store.ts'
import { rebuildIndexes } from '../tables/indexes.ts'
import { Refusal, type Sealed, type Transaction } from '../transaction.ts'
import type { Origin, World } from '../world.ts'
import { type BlobRows, takeBlobRows } from './blob-rows.ts'
import type { LineMerge, MergedFile } from './line-merge.ts'
import type { MergeChange, MergeEvent, MergeSource } from './merge-source.ts'

export interface MergeRequest {
  from: string
  strategy: Strategy
  dry_run: boolean
  /** By reference, over the strategy. */
  choices: Record<string, 'ours' | 'theirs'>
  message?: string | undefined
}

export interface Conflict {
  ref: string
  base: string | null
  ours: string | null
  theirs: string | null
}

export interface Merged {
  applied: number
  conflicts: Conflict[]
}

/** The other session, as far as a merge needs it. */
export interface OtherSession {
  mergeSource(): Promise<Outcome<MergeSource>>
  mergeChanges(
    base: number,
    version: number,
    after: string | null,
  ): Promise<Outcome<{ items: MergeChange[]; next: string | null }>>
  mergeEvents(
    base: number,
    version: number,
    after: number,
  ): Promise<Outcome<{ items: MergeEvent[]; next: number | null }>>
}

/** What a merge needs beside the two worlds. */
export interface Helpers {
  mergeLines: LineMerge
  /** Blobs of the other session, which this one holds from now on. */
  takeBlobs(digests: string[]): Promise<BlobRows>
}

export interface FileValue {
  blob: string
  size: number
  [member: string]: unknown
}

interface Step {
  change: MergeChange
  /** What ours was when this was planned. */
  ours: string | null
  /** The file both sides made together, where lines could be merged. */
  lines: MergedFile | null
}

interface Plan {
  base: number
  source: MergeSource
  steps: Step[]
  conflicts: Conflict[]
  events: MergeEvent[]
  blobs: BlobRows[]
}

const attempts = 5

export async function merge(
  world: World,
  other: OtherSession,
  caller: Caller,
  request: MergeRequest,
  helpers: Helpers,
): Promise<Outcome<Made & Merged>> {
  const told = toldBefore<Merged>(world, caller)
  if (told) return told
  for (let attempt = 0; attempt < attempts; attempt++) {
    const plan = await planMerge(world, other, request, helpers)
    if (!('steps' in plan)) return plan
    const closed = world.closed()
    if (closed) return closed
    if (request.dry_run) return preview(world, plan)
    if (plan.conflicts.length > 0 && unsettled(plan, request).length > 0)
      return conflictFailure(plan, request)
    const outcome = apply(world, caller, request, plan)
    if (outcome !== 'moved') return outcome
  }
  return fail('unavailable', 'the session changed again and again while the merge was planned', {
    retry_after: 1,
  })
}

async function planMerge(
  world: World,
  other: OtherSession,
  request: MergeRequest,
  { mergeLines, takeBlobs }: Helpers,
): Promise<Plan | Failure> {
  const source = await other.mergeSource()
  if (!source.ok) return source
  const base = baseVersion(world, source)
  if (base === null) return fail('invalid', 'the two sessions have no common origin', { pointer: '/from' })
  const plan: Plan = { base, source, steps: [], conflicts: [], events: [], blobs: [] }
  let bytes = 0
  for (let after: string | null = null; ; ) {
    const page = await other.mergeChanges(base, source.version, after)
    if (!page.ok) return page
    for (const change of page.items) {
      await planChange(world, plan, request, change, mergeLines)
      bytes += change.after?.text?.length ?? 0
    }
    if (bytes > limits.commitBytes) return tooMuch()
    after = page.next
    if (after === null) break
  }
  for (let after = 0; ; ) {
    const page = await other.mergeEvents(base, source.version, after)
    if (!page.ok) return page
    plan.events.push(...page.items)
    for (const event of page.items) bytes += event.sealed.text?.length ?? 0
    if (bytes > limits.commitBytes) return tooMuch()
    if (page.next === null) break
    after = page.next
  }
  const taken = [
    ...plan.steps.flatMap(({ change }) => blobsIn(change)),
    ...plan.events.flatMap(({ sealed }) => sealed.blob ?? []),
  ]
  for (let i = 0; i < taken.length; i += 1000) plan.blobs.push(await takeBlobs(taken.slice(i, i + 1000)))
  return plan
}

async function planChange(
  world: World,
  plan: Plan,
  request: MergeRequest,
  change: MergeChange,
  mergeLines: LineMerge,
): Promise<void> {
  const { kind, key, before, after } = change
  const ref = formatRef(kind, key)
  const mine = currentEntry(world.sql, kind, key)
  const sides = {
    base: before,
    ours: mine === null ? null : hex(mine.digest),
    theirs: after === null ? null : hex(after.digest),
  }
  const verdict = judge(sides)
  if (verdict === 'keep') return
  const step: Step = { change, ours: sides.ours, lines: null }
  if (verdict === 'conflict') {
    step.lines = await mergedFile(change, mine?.text ?? null, mergeLines)
    if (step.lines === null) {
      plan.conflicts.push({ ref, ...sides })
      if (settle(ref, request.strategy, request.choices) !== 'take') return
    }
  }
  plan.steps.push(step)
}

async function mergedFile(
  change: MergeChange,
  mine: string | null,
  mergeLines: LineMerge,
): Promise<MergedFile | null> {
  const { was, after } = change
  if (was === null || mine === null || after?.text == null) return null
  return mergeLines(JSON.parse(was), JSON.parse(mine), JSON.parse(after.text))
}

/**
 * The version of the other session from which its changes count: the last that was merged from it, or where the lines of descent
 * part. Null when they never met.
 */
function baseVersion(world: World, source: MergeSource): number | null {
  const common = commonVersion(world, source)
  const merged = world.meta(mergedMark(source.session))
  return common === null ? null : Math.max(common, Number(merged ?? 0))
}

function mergedMark(session: string): string {
  return `merged ${session}`
}

/** The newest version both sessions have in common: where their lines of descent part. */
export function commonVersion({ identity, head }: World, source: MergeSource): number | null {
  const mine: Origin[] = [{ session: identity.session, version: head.version }, ...identity.ancestry]
  const theirs: Origin[] = [{ session: source.session, version: source.version }, ...source.ancestry]
  for (const { session, version } of mine) {
    const same = theirs.find((one) => one.session === session)
    if (same) return Math.min(version, same.version)
  }
  return null
}

function unsettled(plan: Plan, { strategy, choices }: MergeRequest): Conflict[] {
  return plan.conflicts.filter(({ ref }) => settle(ref, strategy, choices) === null)
}

function conflictFailure(plan: Plan, request: MergeRequest): Failure {
  const conflicts = unsettled(plan, request)
  return { ...fail('merge_conflict', `both sides changed ${conflicts[0]?.ref}`), conflicts }
}

function preview(world: World, plan: Plan): Outcome<Made & Merged> {
  const { version, at, digest } = world.head
  return {
    ok: true,
    version,
    at: new Date(at).toISOString(),
    digest,
    applied: plan.steps.length + plan.events.length,
    conflicts: plan.conflicts,
  }
}

function apply(
  world: World,
  caller: Caller,
  request: MergeRequest,
  plan: Plan,
): Outcome<Made & Merged> | 'moved' {
  const { source, base } = plan
  const cause = canonical({ merge: { session: source.session, base, version: source.version } })
  const moved = plan.steps.some(({ change, ours }) => {
    const now = entryStamp(world.sql, change.kind, change.key)
    return (now === null ? null : hex(now.digest)) !== ours
  })
  if (moved) return 'moved'
  return transact(
    world,
    caller,
    { message: request.message, cause },
    {
      apply: (tx) => {
        tx.begin('merge', undefined)
        for (const rows of plan.blobs) takeBlobRows(world, rows, tx.at)
        for (const step of plan.steps) applyStep(tx, step)
        rebuildIndexes(world)
        world.setMeta(mergedMark(source.session), String(source.version))
        const seqs = new Map<number, number>()
        for (const event of plan.events) appendFrom(tx, source.session, event, seqs)
        return { applied: plan.steps.length + plan.events.length, conflicts: plan.conflicts }
      },
    },
  )
}

function applyStep(tx: Transaction, { change, lines }: Step): void {
  const { kind, key, after } = change
  if (lines !== null) {
    holdBlobs(tx.world, [lines.blob], tx.at)
    const ours = entryStamp(tx.world.sql, 'file', key)
    // It is made of both: ours, and theirs, which the merge's cause names.
    tx.begin('merge', ours === null ? undefined : [`${formatRef('file', key)}@${ours.since}`])
    tx.put('file', key, canonical(lines.value), lines.value.size)
    tx.begin('merge', undefined)
  } else if (after === null) tx.remove(kind, key)
  else tx.adopt(kind, key, after, after.inputs)
}

/** The event as it was there, with where it was; its parent, where that came along, by its number here. */
function appendFrom(tx: Transaction, session: string, event: MergeEvent, seqs: Map<number, number>): void {
  const { seq: theirs, type, lane, key, parent, call, sealed } = event
  const taken =
    key === null ? [] : tx.world.sql.exec('SELECT 1 FROM events WHERE key = ? LIMIT 1', key).toArray()
  const seq = tx.append({
    type,
    lane,
    payload: payloadOf(sealed),
    // A key that both sides used stays with ours; theirs is still found by its origin.
    key: taken.length > 0 ? undefined : (key ?? undefined),
    parent: parent === null ? undefined : (seqs.get(parent) ?? parent),
    call: call ?? undefined,
    origin: JSON.stringify({ session, seq: theirs }),
  })
  seqs.set(theirs, seq)
}

function payloadOf(sealed: Sealed) {
  if (sealed.text !== null) return sealed.text as Canonical // As it was stored there: canonical.
  if (sealed.blob === null) throw new Refusal('gone', 'an event of the other session was erased')
  const { blob, size, salt, digest } = sealed
  return { blob, size, salt, digest }
}

function blobsIn({ kind, after }: MergeChange): string[] {
  return after === null ? [] : blobsOf(kind, after)
}

function tooMuch(): Failure {
  return fail('too_large', `a merge brings at most ${limits.commitBytes} bytes of values`, {
    limit: limits.commitBytes,
  })
}
