// Plays a run while what plays it, what serves it, or both are killed at random moments, until the world is done.

import { type Edge, startEdge } from '../support/edge.ts'
import type { Chance } from './chance.ts'
import { acksFile, type Player, play } from './player.ts'

export const victims = ['harness', 'edge', 'both'] as const
export type Victim = (typeof victims)[number]

/** An edge that may be killed: always the living one, at one address. */
export interface Stage {
  edge: Edge
}

export interface Ordeal {
  session: string
  acks: string
  /** Kills that hit something alive. */
  kills: number
}

/** Seconds. The shortest there is, so that a successor does not wait long; longer where the holder outlives the edge. */
const ttl: Record<Victim, number> = { harness: 1, edge: 5, both: 1 }

/**
 * @param run the file that is played, and its number of steps
 * @param most kills, after which the run is left in peace
 */
export async function ordeal(
  stage: Stage,
  run: { file: string; steps: number },
  victim: Victim,
  most: number,
  chance: Chance,
): Promise<Ordeal> {
  const session = `${victim}-${chance.whole(0, 1e9)}`
  const acks = acksFile()
  let kills = 0
  for (;;) {
    const delay = chance.whole(0, 60)
    const { url, key } = stage.edge
    const player = play({ url, key, file: run.file, session, ttl: ttl[victim], delay, acks })
    while (kills < most && (await aliveAtSomeMoment(player, run.steps * (delay + 15), chance))) {
      kills++
      await kill(stage, player, victim, chance)
    }
    const code = await player.exit
    if (code === 0) return { session, acks, kills }
    // Fenced: the edge was gone for longer than the lease. Killed: by us. Either way the next one goes on.
    if (code !== 3 && code !== null) throw new Error(`the harness ended with ${code}:\n${player.output()}`)
  }
}

/** Waits for some moment of a life: mostly among its steps, now and then while it starts or waits for the lease. */
async function aliveAtSomeMoment(player: Player, playing: number, chance: Chance): Promise<boolean> {
  const early = chance.next() < 0.25
  if (!early) await player.said('epoch')
  await Promise.race([player.exit, sleep(chance.next() * (early ? 800 : playing))])
  return !player.ended()
}

async function kill(stage: Stage, player: Player, victim: Victim, chance: Chance): Promise<void> {
  if (victim !== 'edge') player.signal('SIGKILL')
  if (victim !== 'harness') await restart(stage, chance)
  if (victim !== 'edge') await player.exit
}

/** The whole process group dies as a machine does; another edge takes its address and its data. */
async function restart(stage: Stage, chance: Chance): Promise<void> {
  const { data, key, url } = stage.edge
  await stage.edge.kill9()
  await sleep(chance.whole(0, 200))
  stage.edge = await startEdge({ data, key, port: Number(new URL(url).port) })
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
