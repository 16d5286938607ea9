// The loop that lives in a session. It keeps nothing of its own: killed at any point and started anywhere else, it finds in the
// world how far it came, and goes on.

import { type Lares, LaresError, type Lease, type Session } from '../../src/client/index.ts'
import type { Run } from './run.ts'
import { sleep } from './sleep.ts'
import { type Memory, recordStep, type Summary, stepName, summarise } from './steps.ts'

export interface HarnessOptions {
  lares: Lares
  /** The session to live in; made when it is not there. */
  session: string
  run: Run
  holder: string
  /** Seconds that a lease lasts without a sign of life. */
  ttl: number
  /** Milliseconds that the model thinks before each step. */
  delay: number
  /** Told of every step that is acknowledged. */
  onStep?: (step: StepDone) => void
  /** Told what else is worth knowing. */
  onNote?: (note: string) => void
}

export interface StepDone extends Summary {
  /** From 1. */
  step: number
  of: number
  /** The version that holds it, durably. */
  version: number
}

/** `fenced`: another harness has taken over, and this one has stopped writing. */
export type Ending = 'done' | 'fenced'

/**
 * Plays the run to its end, from wherever the world stands.
 *
 * @throws {NetworkError} the edge was out of reach for longer than the client's retries last
 * @throws {Error} the session holds another run
 */
export async function live(options: HarnessOptions): Promise<Ending> {
  const session = options.lares.session(options.session)
  await session.ensure({ title: `Durable agent: ${options.run.name}` })
  if ((await findPlace(session, options.run)).cursor === options.run.steps.length) return 'done'
  const lease = await takeLease(session, options)
  options.onNote?.(`holding the lease, epoch ${lease.epoch}`)
  try {
    lease.keepAlive()
    await play(lease, options)
  } catch (error) {
    // Whoever holds the lease now owns the world. Nothing is tidied up: that would be a write.
    if (LaresError.is(error, 'fenced')) return 'fenced'
    await lease.release().catch(() => undefined)
    throw error
  }
  await lease.release()
  return 'done'
}

/** A predecessor that died still holds the lease for a while. */
async function takeLease(session: Session, { holder, ttl, onNote }: HarnessOptions): Promise<Lease> {
  for (let waits = 0; ; waits++) {
    try {
      return await session.lease({ holder, ttl })
    } catch (error) {
      if (!LaresError.is(error, 'leased')) throw error
      if (waits === 0) onNote?.(`waiting for the lease: ${error.detail}`)
      // Not all of what is left of it: the holder may be done sooner.
      await sleep(Math.min((error.retry_after ?? 1) * 1000, 250))
    }
  }
}

async function play(lease: Lease, options: HarnessOptions): Promise<void> {
  const { run, delay } = options
  let place = await findPlace(lease.session, run)
  if (place.cursor > 0)
    options.onNote?.(`going on after ${stepName(place.cursor - 1)}, at version ${place.version}`)
  while (place.cursor < run.steps.length) {
    await sleep(delay, lease.lost)
    try {
      place = await takeStep(lease.session, place, options)
    } catch (error) {
      // Someone left a message in the inbox, which needs no lease: look again where the world stands.
      if (!LaresError.is(error, 'version_mismatch')) throw error
      place = await findPlace(lease.session, run)
    }
  }
}

interface Place {
  version: number
  /** Steps that are done. */
  cursor: number
}

/** Where the world stands. Both facts are of one version, whatever happens between the two reads. */
async function findPlace(session: Session, run: Run): Promise<Place> {
  const { version } = await session.get()
  const { state } = session.at(version)
  const known = await state.get<Memory['run']>('run')
  if (known !== undefined && (known.name !== run.name || known.steps !== run.steps.length)) {
    throw new Error(`the session ${session.id} plays the run ${known.name}; give another session`)
  }
  return { version, cursor: (await state.get<Memory['cursor']>('cursor')) ?? 0 }
}

/** One step is one commit, so the world never holds half of one. */
async function takeStep(session: Session, place: Place, { run, onStep }: HarnessOptions): Promise<Place> {
  const { cursor } = place
  const name = stepName(cursor)
  const { version } = await session.commit((tx) => recordStep(tx, run, cursor), {
    message: `${name} of ${run.name}`,
    cause: { run: run.name, step: cursor + 1 },
    expect: place.version,
    // Of the step and not of the attempt: sent again, by whomever, it gets the first answer.
    idempotency_key: `${session.id}/${name}`,
  })
  onStep?.({ step: cursor + 1, of: run.steps.length, version, ...summarise(run, cursor) })
  return { version, cursor: cursor + 1 }
}
