// The sweep of one ledger: ask holders, let go of what none needs, condemn what nobody holds, delete it from R2. Each step is
// bounded and may be the last; the next run goes on. docs/bytes.md says why it can run beside every writer.

import type { Holding, Ledger, LedgerObject } from './ledger.ts'

/** Asks a session which of these objects it does not need; `act` also makes it forget them. */
export type Ask = (
  session: string,
  keys: readonly string[],
  before: number,
  act: boolean,
) => Promise<readonly string[] | 'gone' | 'unknown'>

export interface SweepOptions {
  /** Epoch milliseconds: what was held or put later is left alone. */
  before: number
  dryRun: boolean
  /** Goes on where suspiciously much would go. */
  force: boolean
  /** Pages of holders at most. */
  pages: number
}

export interface Swept {
  /** What would go (dry run), or went. */
  objects: number
  bytes: number
  /** Some of them. */
  items: LedgerObject[]
  /** Why it stopped before its end. */
  stopped: string | null
  /** More holders remain to be asked. */
  next: string | null
}

const pageSize = 500
const listed = 1000
/** More than this many, and more than half of all, is taken for a fault of ours and not of the world. */
const suspicious = 100

export async function sweepLedger(
  ledger: DurableObjectStub<Ledger>,
  bucket: R2Bucket,
  ask: Ask,
  from: string | null,
  { before, dryRun, force, pages }: SweepOptions,
): Promise<Swept> {
  const ended: [string, string][] = []
  let cursor = from
  for (let page = 0; page < pages; page++) {
    const { items, next } = await ledger.walk(cursor, before, pageSize)
    const unneeded = await askAll(items, ask, before)
    if (!force && tooMuch(unneeded.suspect, items.length)) {
      return { objects: 0, bytes: 0, items: [], stopped: 'most holds would go', next: cursor }
    }
    for (const { session, keys, names } of unneeded.groups) {
      if (dryRun) {
        for (const name of names.values()) ended.push([name, session])
        continue
      }
      const sure = await ask(session, keys, before, true)
      if (sure === 'unknown') continue
      const gone = sure === 'gone' ? keys : sure
      await ledger.letGo(
        session,
        gone.map((key) => names.get(key)).filter((name) => name !== undefined),
        before,
      )
    }
    cursor = next
    if (cursor === null) break
  }
  const { items, idle, objects } = await ledger.idle(before, listed, ended)
  if (!force && tooMuch(idle, objects))
    return { objects: 0, bytes: 0, items: [], stopped: 'most objects would go', next: cursor }
  const found = { objects: idle, bytes: items.reduce((sum, one) => sum + one.size, 0), items, next: cursor }
  if (dryRun) return { ...found, stopped: null }
  const { count, bytes } = await ledger.condemn(
    items.map((one) => one.name),
    before,
  )
  await bury(ledger, bucket)
  return { objects: count, bytes, items, stopped: null, next: cursor }
}

/** Deletes what is condemned; also what a run before this one condemned and did not come to delete. */
export async function bury(ledger: DurableObjectStub<Ledger>, bucket: R2Bucket): Promise<void> {
  for (;;) {
    // R2 takes a thousand keys a call.
    const keys = await ledger.doomed(1000)
    if (keys.length === 0) return
    await bucket.delete(keys.filter((key) => !key.endsWith('/')))
    // A key that ends so stands for all that begins with it: the pages of a family of which no session is left.
    for (const prefix of keys.filter((key) => key.endsWith('/'))) await deletePrefix(bucket, prefix)
    await ledger.buried(keys)
  }
}

async function deletePrefix(bucket: R2Bucket, prefix: string): Promise<void> {
  for (;;) {
    const { objects } = await bucket.list({ prefix })
    if (objects.length === 0) return
    await bucket.delete(objects.map(({ key }) => key))
  }
}

interface Unneeded {
  session: string
  keys: string[]
  /** Ledger names by key. */
  names: Map<string, string>
}

async function askAll(
  items: readonly Holding[],
  ask: Ask,
  before: number,
): Promise<{ groups: Unneeded[]; suspect: number }> {
  const groups: Unneeded[] = []
  let suspect = 0
  const sessions = Map.groupBy(items, (item) => item.holder)
  for (const [session, held] of sessions) {
    const names = new Map(held.map(({ key, name }) => [key, name]))
    const answer = await ask(session, [...names.keys()], before, false)
    if (answer === 'unknown') continue
    const keys = answer === 'gone' ? [...names.keys()] : [...answer]
    // That a deleted session needs nothing any more is no sign of a fault.
    if (answer !== 'gone') suspect += keys.length
    if (keys.length > 0) groups.push({ session, keys, names })
  }
  return { groups, suspect }
}

function tooMuch(some: number, all: number): boolean {
  return some > suspicious && some * 2 > all
}
