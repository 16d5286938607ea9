// Runs the sweep: from the clock, a bounded part of every fleet's ledgers at a time; and for the operator, who may look first.

import type { Hono } from 'hono'
import { z } from 'zod'
import { knowsSession } from '../catalog/index.ts'
import type { Env } from '../env.ts'
import { ledgerAt, ledgerCount } from '../media/hold.ts'
import { type Ask, type Swept, sweepLedger } from '../media/sweep.ts'
import { decodeCursor, encodeCursor } from '../protocol/paging.ts'
import type { SessionStub } from '../session/rpc.ts'
import { readOptionalBody } from './body.ts'
import type { EdgeEnv } from './context.ts'
import { fleetRoute } from './door.ts'
import { invalid, readQuery } from './query.ts'
import { replyJson } from './reply.ts'

/** How old a hold must be before anybody is asked about it: longer than a request, a retry or a pause for thought. */
export const graceSeconds = 24 * 3600

export const sweepBody = z.strictObject({
  dry_run: z.boolean().default(false),
  /** Go on where most would go. */
  force: z.boolean().default(false),
  /** Seconds. */
  grace: z
    .int()
    .min(0)
    .max(365 * 24 * 3600)
    .default(graceSeconds),
  cursor: z.string().max(4096).optional(),
})
export const sweepShown = z
  .object({
    objects: z.int(),
    bytes: z.int(),
    items: z.array(z.object({ name: z.string(), key: z.string(), size: z.int() })),
    stopped: z.string().nullable(),
    next: z.string().nullable(),
  })
  .meta({ id: 'Sweep' })

/** Pages of holders that one visit to a ledger goes through, on request and by the clock. */
const pagesPerRequest = 20
const pagesPerVisit = 4
/** Ledgers that one run of the clock visits: an invocation may make about a thousand calls. */
const visitsPerRun = 128
/** How often each ledger's holders are all asked. */
const roundMs = 24 * 3600 * 1000

export function sweepRoutes(app: Hono<EdgeEnv>): void {
  fleetRoute(app, 'post', '/v1/sweep', 'root', async (c) => {
    readQuery(c, [])
    const { dry_run: dryRun, force, grace, cursor } = await readOptionalBody(c, sweepBody)
    const { fleet } = c.get('who')
    const options = { before: Date.now() - grace * 1000 + 1, dryRun, force, pages: pagesPerRequest }
    let place: Position | null = cursor === undefined ? start : readPlace(cursor)
    const total: Swept = { objects: 0, bytes: 0, items: [], stopped: null, next: null }
    // Once round the ledgers at most; a large one may need several visits.
    for (let visits = 0; place !== null && visits < ledgerCount && total.stopped === null; visits++) {
      const ledger = ledgerAt(c.env, fleet, place.ledger)
      const swept: Swept = await sweepLedger(ledger, c.env.BLOBS, askerOf(c.env, fleet), place.from, options)
      add(total, swept)
      place = nextPlace(place, swept.next)
    }
    const next = place === null ? null : encodeCursor('sweep', JSON.stringify(place))
    return replyJson(c, { ...total, next })
  })
}

/** One run of the clock, over all fleets that have bytes, or just these. */
export async function sweepOnSchedule(env: Env, now = Date.now(), only?: string[]): Promise<void> {
  const fleets = only ?? (await fleetsWithBytes(env.BLOBS))
  // Another fleet comes first each time, so that a run that ends early starves nobody.
  const first = fleets.length === 0 ? 0 : Math.floor(now / 600_000) % fleets.length
  let visits = 0
  for (let i = 0; i < fleets.length; i++) {
    const fleet = fleets[(first + i) % fleets.length]
    if (fleet === undefined) continue
    for (let index = 0; index < ledgerCount; index++) {
      if (visits++ >= visitsPerRun) return
      try {
        await visit(env, fleet, index, now)
      } catch (error) {
        console.warn('a ledger could not be swept', error instanceof Error ? error.message : 'unknown')
      }
    }
  }
}

async function visit(env: Env, fleet: string, index: number, now: number): Promise<void> {
  const ledger = ledgerAt(env, fleet, index)
  const { cursor, began } = await ledger.place()
  if (cursor === null && now - began < roundMs) return
  const swept = await sweepLedger(ledger, env.BLOBS, askerOf(env, fleet), cursor, {
    before: now - graceSeconds * 1000,
    dryRun: false,
    force: false,
    pages: pagesPerVisit,
  })
  if (swept.stopped !== null) console.warn(`the sweep of ${fleet}/${index} stopped: ${swept.stopped}`)
  await ledger.keepPlace(swept.next, cursor === null ? now : began)
}

async function fleetsWithBytes(bucket: R2Bucket): Promise<string[]> {
  const fleets: string[] = []
  let cursor: string | undefined
  for (;;) {
    const page = await bucket.list({
      prefix: 'fleets/',
      delimiter: '/',
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const prefix of page.delimitedPrefixes) fleets.push(prefix.slice('fleets/'.length, -1))
    if (!page.truncated) return fleets
    cursor = page.cursor
  }
}

function askerOf(env: Env, fleet: string): Ask {
  return async (session, keys, before, act) => {
    const id = env.SESSION.idFromName(`${fleet}/${session}`)
    // As the door does: the object is known by its RPC type alone.
    const stub = env.SESSION.get(id) as unknown as SessionStub
    try {
      const answer = await stub.unneededKeys([...keys], before, act)
      if (answer.ok) return answer.keys
      if (answer.code === 'gone') return 'gone'
      if (answer.code !== 'not_found') return 'unknown'
      // An object with no session in it may have lost one, which a snapshot can bring back as long as its bytes are there.
      return (await knowsSession(env.CATALOG, { fleet, session })) ? 'unknown' : 'gone'
    } catch {
      // Whoever does not answer may need everything.
      return 'unknown'
    }
  }
}

const position = z.object({
  ledger: z
    .int()
    .min(0)
    .max(ledgerCount - 1),
  from: z.string().nullable(),
})
type Position = z.output<typeof position>

const start: Position = { ledger: 0, from: null }

function nextPlace({ ledger }: Position, from: string | null): Position | null {
  if (from !== null) return { ledger, from }
  return ledger + 1 < ledgerCount ? { ledger: ledger + 1, from: null } : null
}

function readPlace(cursor: string): Position {
  const text = decodeCursor('sweep', cursor)
  const place = position.safeParse(typeof text === 'string' ? jsonOr(text, null) : null)
  if (!place.success) throw invalid('this is no cursor of a sweep', '/cursor')
  return place.data
}

function jsonOr(text: string, otherwise: unknown): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return otherwise
  }
}

function add(total: Swept, { objects, bytes, items, stopped }: Swept): void {
  total.objects += objects
  total.bytes += bytes
  total.items.push(...items.slice(0, 1000 - total.items.length))
  total.stopped = stopped
}
