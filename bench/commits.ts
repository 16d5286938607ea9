// A hundred events in one commit: what an event costs when the request and the flush to disk are shared.

import type { Figure, Suite } from './suite.ts'
import { settled } from './support/catalog.ts'
import type { Connections } from './support/load.ts'
import type { Stage } from './support/stage.ts'
import { interleave, median } from './support/statistics.ts'

const secondsPerRound = 1
const eventsPerCommit = 100
const body = JSON.stringify({
  ops: Array.from({ length: eventsPerCommit }, (_, i) => ({
    op: 'log.append',
    payload: { step: i, text: 'The tests pass now; shall I open a pull request?' },
  })),
})

export const benchCommits: Suite = {
  name: 'commits',
  about: `commits of ${eventsPerCommit} events`,
  async run(stage) {
    const lares = await stage.connect('lares', 4)
    const alone = await stage.connect('instrumented', 4)
    const session = await stage.session(lares)
    const catalog = { events: 0, ms: 0 }
    const work: number[] = []
    const measured = await interleave(stage.rounds, {
      lares: async () => {
        const before = lares.processorTime() ?? Number.NaN
        const rate = await events(lares, session)
        work.push(((lares.processorTime() ?? Number.NaN) - before) / (rate * secondsPerRound))
        catalog.events += rate * secondsPerRound
        catalog.ms += secondsPerRound * 1000 + (await settled(lares, session))
        return rate
      },
      alone: await ofNewSession(stage, alone),
    })
    return [
      {
        what: 'events',
        measured: median(measured.lares),
        unit: '/s',
        target: { atLeast: 40_000 },
        note: 'at 4 connections, the catalog being fed',
      },
      ...(Number.isNaN(median(work))
        ? []
        : [{ what: 'processor time of an event', measured: median(work) * 1000, unit: 'us' }]),
      { what: 'the same without the catalog', measured: median(measured.alone), unit: '/s' },
      {
        what: 'until the catalog has them too',
        measured: (catalog.events / catalog.ms) * 1000,
        unit: '/s',
        note: 'writing and catching up, one after the other',
      },
    ] satisfies Figure[]
  },
}

async function ofNewSession(stage: Stage, on: Connections) {
  const session = await stage.session(on)
  return () => events(on, session)
}

async function events(on: Connections, session: string): Promise<number> {
  const rate = await on.throughput(secondsPerRound, () => ({
    method: 'POST',
    path: `${session}/commits`,
    body,
  }))
  return rate * eventsPerCommit
}
