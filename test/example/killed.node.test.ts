// The main promise, on real input: whatever is killed, at whatever moment, what was acknowledged is there, once.
//
// LARES_KILLS sets the kills of each run and victim (3 unless given); LARES_SEED repeats a run of this test.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { readRun } from '../../examples/durable-agent/run.ts'
import { startEdge } from '../support/edge.ts'
import { chainProblems } from './chain.ts'
import { chance } from './chance.ts'
import { type Ack, acksFile, play, readAcks } from './player.ts'
import { runs } from './runs.ts'
import { ordeal, type Stage, victims } from './torture.ts'
import { readWorld, sessionOf, type World } from './world.ts'

const kills = Number(process.env.LARES_KILLS ?? 3)
/** Kills of one session, at most; then it may finish, and another session is next. */
const killsPerSession = 4
const patience = 60_000 + kills * 15_000

describe.each(runs)('$name', ({ file }) => {
  if (file === null) {
    test.skip('killed while it is played', () => undefined)
    return
  }

  const data = mkdtempSync(join(tmpdir(), 'lares-killed-'))
  let stage: Stage
  let reference: World

  beforeAll(async () => {
    stage = { edge: await startEdge({ data }) }
    const { url, key } = stage.edge
    const player = play({ url, key, file, session: 'undisturbed', ttl: 10, delay: 0, acks: acksFile() })
    expect(await player.exit, player.output()).toBe(0)
    reference = await readWorld(sessionOf(stage.edge, 'undisturbed'))
  })

  afterAll(async () => {
    await stage.edge.stop()
    rmSync(data, { recursive: true, force: true })
  })

  test('undisturbed, it is in the world step for step', async () => {
    const { steps } = readRun('', readFileSync(file, 'utf8'))
    expect(reference.version).toBe(steps.length)
    expect(reference.log).toMatchObject(
      steps.flatMap(({ response, action, observation }, index) => [
        { type: 'message', version: index + 1, payload: { role: 'assistant', content: response } },
        {
          type: 'tool_call',
          version: index + 1,
          payload: { id: `step-${index + 1}`, input: { command: action } },
        },
        {
          type: 'tool_result',
          version: index + 1,
          payload: { call_id: `step-${index + 1}`, output: observation },
        },
      ]),
    )
    expect(reference.state).toMatchObject([
      { key: 'cursor', value: steps.length },
      { key: 'plan', since: steps.length },
      { key: 'run', since: 1 },
      { key: 'status', value: 'done' },
    ])
    const transcripts = (reference.files as { path: string; content: Uint8Array }[])
      .filter((entry) => entry.path.startsWith('steps/'))
      .map((entry) => new TextDecoder().decode(entry.content))
    expect(transcripts).toEqual(steps.map((step) => step.observation))
    expect(await chainProblems(sessionOf(stage.edge, 'undisturbed'))).toEqual([])
  })

  test.each(victims)(
    'with the %s killed at random moments, the world is as if nothing had happened',
    async (victim) => {
      const luck = chance()
      onTestFailed(() =>
        console.error(`To repeat: LARES_SEED=${luck.seed}\nThe edge said: ${stage.edge.output()}`),
      )
      let killed = 0
      while (killed < kills) {
        const most = Math.min(killsPerSession, kills - killed)
        const {
          session: id,
          acks,
          ...rest
        } = await ordeal(stage, { file, steps: reference.version }, victim, most, luck)
        killed += rest.kills
        const session = sessionOf(stage.edge, id)
        const world = await readWorld(session)
        expect(world).toEqual(reference)
        expectAcknowledged(world, readAcks(acks))
        expect(await chainProblems(session)).toEqual([])
      }
    },
    patience,
  )
})

/** Every step that a harness was told is done is in the log, in the version it was told, and once. */
function expectAcknowledged(world: World, acks: Ack[]): void {
  const log = world.log as { key: string; version: number; type: string }[]
  const keys = log.map((event) => event.key)
  expect(new Set(keys).size).toBe(keys.length)
  for (const { step, version } of acks) {
    const found = log.filter((event) => event.key.startsWith(`step-${step}/`))
    expect(found.map((event) => [event.type, event.version])).toEqual([
      ['message', version],
      ['tool_call', version],
      ['tool_result', version],
    ])
  }
}
