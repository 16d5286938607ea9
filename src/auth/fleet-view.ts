// What this isolate knows of each fleet's keys and revocations, so that a request needs no look-up.
//
// The rule: a revocation holds at once where it was made and everywhere within 10 s. A view younger than 1 s is used
// as it is; until 10 s it is used while it is read anew in the background; after that the request waits. Only when
// the fleet's object can't be reached is an older view used, up to 5 min: better a revocation late than a fleet down.
//
// No request waits for another request's read: the platform may cancel that one, and the waiter would hang. Reads
// that run side by side are harmless, since what they add to a view is the same in any order.

import type { Env } from '../env.ts'
import type { Changes } from './fleet.ts'
import { DEFAULT_FLEET } from './names.ts'

export interface View {
  readonly fleet: string
  exists: boolean
  cursor: number
  /** Epoch ms when the last complete read began; `-Infinity` before the first. */
  freshAt: number
  /** Epoch ms when a background read began; it counts as running for a while, since it may never end. */
  refreshingAt: number
  /** Epoch ms when the last read failed. */
  failedAt: number
  /** Key id to hash. */
  readonly keys: Map<string, string>
  /** Revoked id to the epoch ms when it can be forgotten. Asked before `keys`, so the order of news is no matter. */
  readonly revoked: Map<string, number>
}

export type WaitUntil = (promise: Promise<unknown>) => void

/** The fleet's object did not answer and nothing recent enough is known: 503, and the same request may succeed later. */
export class FleetUnavailable extends Error {
  override readonly name = 'FleetUnavailable'
}

/**
 * A view that may be relied on at `now`, read anew as the rule above says.
 * @param waitUntil keeps a background read alive; without it the request waits for the read
 * @throws FleetUnavailable
 */
export async function currentView(
  env: Env,
  fleet: string,
  now: number,
  waitUntil?: WaitUntil | undefined,
): Promise<View> {
  const view = viewOf(fleet, now)
  const age = now - view.freshAt
  if (age < FRESH) return view
  if (age < USABLE && waitUntil) {
    if (!isRefreshing(view, now)) {
      view.refreshingAt = now
      // A failure is written down in the view, and the view's age tells the rest.
      waitUntil(readAnew(env, view, now).catch(() => undefined))
    }
    return view
  }
  const mayBeOld = age < LAST_RESORT
  // While the object is failing, each request must not wait its time-out again.
  if (mayBeOld && now - view.failedAt < RETRY) return view
  try {
    await readAnew(env, view, now)
  } catch (error) {
    if (!mayBeOld) throw new FleetUnavailable(`fleet ${fleet} can't be read`, { cause: error })
  }
  return view
}

/** The view if a request may use it without waiting or starting anything; else null: take the slow path. */
export function readyView(fleet: string, now: number): View | null {
  const view = views.get(fleet)
  if (!view) return null
  const age = now - view.freshAt
  return age < FRESH || (age < USABLE && isRefreshing(view, now)) ? view : null
}

/**
 * Reads once more, whatever the view's age: for a genuine credential whose key the view has not heard of.
 * @throws FleetUnavailable
 */
export async function askAgain(env: Env, view: View, now: number): Promise<void> {
  try {
    await readAnew(env, view, now)
  } catch (error) {
    throw new FleetUnavailable(`fleet ${view.fleet} can't be read`, { cause: error })
  }
}

/** Whether a fleet exists; `default` always does. @throws FleetUnavailable */
export async function fleetExists(env: Env, fleet: string, now: number): Promise<boolean> {
  if (fleet === DEFAULT_FLEET) return true
  const view = await currentView(env, fleet, now)
  // "Not there" may be old news: fleets come to be, and do not go.
  if (!view.exists) await askAgain(env, view, now)
  return view.exists
}

/** Makes a revocation hold in this isolate now; its remembered principals are asked against this same view. */
export function revokedHere(fleet: string, id: string, now: number): void {
  const view = viewOf(fleet, now)
  // For ever, as far as this isolate goes: the next full read brings the real date.
  view.revoked.set(id, Number.POSITIVE_INFINITY)
  view.keys.delete(id)
}

/** Forgets all views. An isolate does so by ending; tests do so between two worlds. */
export function forgetViews(): void {
  views.clear()
}

const FRESH = 1_000
const USABLE = 10_000
const LAST_RESORT = 300_000
const RETRY = 1_000
const BACKGROUND = 2_000
const TIMEOUT = 5_000
const MAX_VIEWS = 1_000
const MANY_REVOKED = 10_000

const views = new Map<string, View>()

function viewOf(fleet: string, now: number): View {
  const known = views.get(fleet)
  // One that is too old to be of use is begun anew: what was revoked since may have been forgotten by now.
  if (known && (known.freshAt === Number.NEGATIVE_INFINITY || now - known.freshAt < LAST_RESORT)) return known
  const view: View = {
    fleet,
    exists: fleet === DEFAULT_FLEET,
    cursor: 0,
    freshAt: Number.NEGATIVE_INFINITY,
    refreshingAt: Number.NEGATIVE_INFINITY,
    failedAt: Number.NEGATIVE_INFINITY,
    keys: new Map(),
    revoked: new Map(),
  }
  views.delete(fleet)
  views.set(fleet, view)
  if (views.size > MAX_VIEWS) dropOldest()
  return view
}

function dropOldest(): void {
  for (const fleet of views.keys()) {
    views.delete(fleet)
    return
  }
}

function isRefreshing(view: View, now: number): boolean {
  return now - view.refreshingAt < BACKGROUND
}

async function readAnew(env: Env, view: View, now: number): Promise<void> {
  try {
    // A stub a call: one that has thrown may be broken.
    const fleet = env.FLEET.get(env.FLEET.idFromName(view.fleet))
    let more = true
    while (more) {
      const changes = await inTime(fleet.sync(view.cursor))
      apply(view, changes, now)
      more = changes.more
    }
    view.freshAt = Math.max(view.freshAt, now)
    view.failedAt = Number.NEGATIVE_INFINITY
  } catch (error) {
    view.failedAt = now
    throw error
  } finally {
    view.refreshingAt = Number.NEGATIVE_INFINITY
  }
}

function apply(view: View, changes: Changes, now: number): void {
  if (changes.reset) {
    view.keys.clear()
    view.revoked.clear()
  }
  view.exists = changes.exists || view.fleet === DEFAULT_FLEET
  view.cursor = changes.reset ? changes.cursor : Math.max(view.cursor, changes.cursor)
  for (const { id, hash } of changes.keys) if (!view.revoked.has(id)) view.keys.set(id, hash)
  for (const { id, expires_at } of changes.revoked) {
    view.keys.delete(id)
    view.revoked.set(id, expires_at)
  }
  if (view.revoked.size > MANY_REVOKED) {
    for (const [id, expiresAt] of view.revoked) if (expiresAt <= now) view.revoked.delete(id)
  }
}

async function inTime<T>(answer: PromiseLike<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('timed out')), TIMEOUT)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
