// One small event a request: what every layer above the floor costs, with the catalog being fed meanwhile.

import type { Figure, Suite } from './suite.ts'
import { lag, settled } from './support/catalog.ts'
import type { Call } from './support/load.ts'
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
  const [floor, lares, alone] = [
    await contender(stage, 'floor', connections),
    await contender(stage, 'lares', connections),
    await contender(stage, 'instrumented', connections),
  ]
  const lags: number[] = []
  const measured = await interleave(stage.rounds, {
    floor: () => floor.round(),
    lares: () =>
      lares.round(async () => {
        lags.push(await lag(lares.on, lares.session))
        // Its work is part of this round, not of the next contender's.
        await settled(lares.on, lares.session)
      }),
    alone: () => alone.round(),
  })
  const at = `at ${connections} connection${connections === 1 ? '' : 's'}`
  const [withCatalog, without] = [
    ratios(measured.lares, measured.floor),
    ratios(measured.alone, measured.floor),
  ]
  return [
    {
      what: `appends/floor ${at}`,
      measured: median(withCatalog),
      unit: 'x',
      target: { atLeast: 0.7 },
      note: `${spread(withCatalog)}; the catalog ${median(lags)} commits behind at a round's end`,
    },
    { what: 'the same without the catalog', measured: median(without), unit: 'x', note: spread(without) },
    { what: `appends ${at}`, measured: median(measured.lares), unit: '/s' },
    { what: `the floor ${at}`, measured: median(measured.floor), unit: '/s' },
    ...[floor, lares, alone].flatMap(({ name, work }) => processor(name, median(work))),
  ]
}

function processor(name: string, ms: number): Figure[] {
  const what = { floor: 'the floor', lares: 'an append', instrumented: 'an append without the catalog' }[name]
  if (Number.isNaN(ms)) return []
  return [{ what: `processor time of ${what}`, measured: ms * 1000, unit: 'us' }]
}

async function contender(stage: Stage, name: 'floor' | 'lares' | 'instrumented', connections: number) {
  const on = await stage.connect(name, connections)
  const session = name === 'floor' ? '/a' : await stage.session(on)
  const call: Call = { method: 'POST', path: name === 'floor' ? session : `${session}/log`, body }
  const work: number[] = []
  return {
    name,
    on,
    session,
    /** Milliseconds of processor time an append, round by round, with what was done after it on its behalf. */
    work,
    async round(afterwards?: () => Promise<void>): Promise<number> {
      const before = on.processorTime()
      const throughput = await on.throughput(secondsPerRound, () => call)
      await afterwards?.()
      const worked = (on.processorTime() ?? Number.NaN) - (before ?? Number.NaN)
      work.push(worked / (throughput * secondsPerRound))
      return throughput
    },
  }
}
