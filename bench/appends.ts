// One small event a request: what every layer above the floor costs, with the catalog being fed meanwhile.

import type { Figure, Suite } from './suite.ts'
import { lag, settled } from './support/catalog.ts'
import type { Call, Connections } from './support/load.ts'
import type { Stage } from './support/stage.ts'
import { interleave, median, ratios, spread } from './support/statistics.ts'

const secondsPerRound = 1.5
const body = JSON.stringify({
  payload: { role: 'user', content: 'The tests pass now; shall I open a pull request?' },
})

export const benchAppends: Suite = {
  name: 'appends',
  about: 'single appends, beside the floor',
  async run(stage) {
    return [...(await measure(stage, 1)), ...(await measure(stage, 16))]
  },
}

async function measure(stage: Stage, connections: number): Promise<Figure[]> {
  const lares = await stage.connect('lares', connections)
  const alone = await stage.connect('instrumented', connections)
  const floor = await stage.connect('floor', connections)
  const session = await stage.session(lares)
  const lags: number[] = []
  const measured = await interleave(stage.rounds, {
    floor: () => floor.throughput(secondsPerRound, () => ({ method: 'POST', path: session, body })),
    lares: async () => {
      const throughput = await lares.throughput(secondsPerRound, append(session))
      lags.push(await lag(lares, session))
      await settled(lares, session)
      return throughput
    },
    alone: await appending(stage, alone),
  })
  const [withCatalog, without] = [measured.lares, measured.alone].map((rates) =>
    ratios(rates, measured.floor),
  )
  const at = `at ${connections} connection${connections === 1 ? '' : 's'}`
  return [
    {
      what: `appends/floor ${at}`,
      measured: median(withCatalog ?? []),
      unit: 'x',
      target: { atLeast: 0.7 },
      note: `${spread(withCatalog ?? [])}; the catalog was ${median(lags)} commits behind at a round's end`,
    },
    {
      what: `the same without the catalog`,
      measured: median(without ?? []),
      unit: 'x',
      note: spread(without ?? []),
    },
    { what: `appends ${at}`, measured: median(measured.lares), unit: '/s' },
    { what: `the floor ${at}`, measured: median(measured.floor), unit: '/s' },
  ]
}

async function appending(stage: Stage, on: Connections): Promise<() => Promise<number>> {
  const session = await stage.session(on)
  return () => on.throughput(secondsPerRound, append(session))
}

function append(session: string): () => Call {
  const call = { method: 'POST', path: `${session}/log`, body } as const
  return () => call
}
