// Speaking to a fleet's ledgers: which of the sixteen, and many names in few calls. This is also how holders other than
// sessions (snapshots, archives) keep what they refer to.

import type { Hold, Ledger, Wanted } from './ledger.ts'
import { bury } from './sweep.ts'

export const ledgerCount = 16

type Ledgers = { LEDGER: DurableObjectNamespace<Ledger> }

export function ledgerAt(env: Ledgers, fleet: string, index: number): DurableObjectStub<Ledger> {
  return env.LEDGER.get(env.LEDGER.idFromName(`${fleet}/${index}`))
}

/**
 * Holds objects for a holder, before they are written or referred to.
 *
 * @param holder a session's id, which the sweep will ask; or a name with a slash, which it will not and which must be released
 * @returns where each lies, in the order asked
 */
export async function holdObjects(
  env: Ledgers,
  fleet: string,
  holder: string,
  wanted: readonly Wanted[],
): Promise<Hold[]> {
  const found = new Map<string, Hold>()
  for (const [index, group] of byLedger(wanted, (one) => one.name)) {
    for (const part of chunked(group)) {
      for (const hold of await ledgerAt(env, fleet, index).hold(holder, part)) found.set(hold.name, hold)
    }
  }
  return wanted.map((one) => found.get(one.name)).filter((hold) => hold !== undefined)
}

/** Holds one object. */
export async function holdObject(env: Ledgers, fleet: string, holder: string, wanted: Wanted): Promise<Hold> {
  const [hold] = await ledgerAt(env, fleet, ledgerOf(wanted.name)).hold(holder, [wanted])
  if (hold === undefined) throw new Error('the ledger answered nothing')
  return hold
}

/** Tells the ledgers that the bytes are there, so that nobody writes them again. Losing this costs a write, no more. */
export async function noteStored(env: Ledgers, fleet: string, names: readonly string[]): Promise<void> {
  for (const [index, group] of byLedger(names, (name) => name))
    await ledgerAt(env, fleet, index).stored(group)
}

export async function releaseObjects(
  env: Ledgers,
  fleet: string,
  holder: string,
  names: readonly string[],
): Promise<void> {
  for (const [index, group] of byLedger(names, (name) => name)) {
    for (const part of chunked(group)) await ledgerAt(env, fleet, index).release(holder, part)
  }
}

export function holdersOf(env: Ledgers, fleet: string, name: string): Promise<string[]> {
  return ledgerAt(env, fleet, ledgerOf(name)).holders(name)
}

/** Deletes an object at once if nobody holds it any more; answers whether it did. */
export async function eraseObject(
  env: Ledgers & { BLOBS: R2Bucket },
  fleet: string,
  name: string,
): Promise<boolean> {
  const ledger = ledgerAt(env, fleet, ledgerOf(name))
  const { count } = await ledger.condemn([name], Number.MAX_SAFE_INTEGER)
  if (count > 0) await bury(ledger, env.BLOBS)
  return count > 0
}

/** Whether a ledger took this object for the blob of that SHA-256: from then on only the sweep may remove it. */
export async function isAdopted(env: Ledgers, fleet: string, sha256: string, key: string): Promise<boolean> {
  return ledgerAt(env, fleet, ledgerOf(sha256)).lies(sha256, key)
}

/** The name under which the ledger knows the object at a key, given a blob that lies in it. */
export function objectName(key: string, sha256: string): string {
  const pack = /^fleets\/[^/]+\/packs\/(.+)$/.exec(key)
  return pack?.[1] === undefined ? sha256 : `pack:${pack[1]}`
}

/** Which of a fleet's ledgers knows an object. */
export function ledgerOf(name: string): number {
  // Both hex digests and ULIDs end in evenly spread characters.
  const digit = Number.parseInt(name.slice(-1), 32)
  return (Number.isNaN(digit) ? name.charCodeAt(name.length - 1) : digit) % ledgerCount
}

function byLedger<T>(items: readonly T[], nameOf: (item: T) => string): Map<number, T[]> {
  const groups = new Map<number, T[]>()
  for (const item of items) {
    const index = ledgerOf(nameOf(item))
    const group = groups.get(index)
    if (group === undefined) groups.set(index, [item])
    else group.push(item)
  }
  return groups
}

function* chunked<T>(items: readonly T[], size = 2000): Generator<T[]> {
  for (let i = 0; i < items.length; i += size) yield items.slice(i, i + size)
}
