// Does a long log make the next append slower? Two sessions, one a hundred times as long, appended to in turns.

import type { Suite } from './suite.ts'
import { settled } from './support/catalog.ts'
import { fillLog } from './support/fill.ts'
import type { Connections } from './support/load.ts'
import { interleave, median, ratios, spread } from './support/statistics.ts'

const short = 1_000
const long = 100_000
const appendsPerRound = 200

export const benchGrowth: Suite = {
  name: 'growth',
  about: `append time at ${long.toLocaleString('en')} events over that at ${short.toLocaleString('en')}`,
  async run(stage) {
    const one = await stage.connect('lares', 1)
    const [young, old] = [await stage.session(one), await stage.session(one)]
    await fillLog(one, young, short)
    await fillLog(one, old, long)
    await settled(one, old)
    // Medians of single requests: a stall of the machine is no property of the log.
    const measured = await interleave(stage.rounds * 2, {
      young: () => append(one, young),
      old: () => append(one, old),
    })
    const slower = ratios(measured.old, measured.young)
    return [
      {
        what: `append at ${long.toLocaleString('en')} / at ${short.toLocaleString('en')} events`,
        measured: median(slower),
        unit: 'x',
        target: { atMost: 1.15 },
        note: spread(slower),
      },
      { what: `append at ${long.toLocaleString('en')} events`, measured: median(measured.old), unit: 'ms' },
    ]
  },
}

async function append(on: Connections, session: string): Promise<number> {
  const body = JSON.stringify({ payload: { text: 'one more' } })
  const times = await on.latencies(appendsPerRound, () => ({ method: 'POST', path: `${session}/log`, body }))
  await settled(on, session)
  return median(times)
}
