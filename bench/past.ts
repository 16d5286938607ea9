// Reading what a key was: the cost of an old version beside that of the head, a hundred thousand versions deep.

import type { Suite } from './suite.ts'
import { settled } from './support/catalog.ts'
import type { Connections } from './support/load.ts'
import { interleave, median, ratios, spread } from './support/statistics.ts'

const depth = 100_000
const readsPerRound = 300

export const benchPast: Suite = {
  name: 'past',
  about: `reads of a key as of an old version, ${depth.toLocaleString('en')} versions deep`,
  async run(stage) {
    const many = await stage.connect('lares', 16)
    const one = await stage.connect('lares', 1)
    const session = await stage.session(one)
    // Every version is a commit of its own over HTTP, as any client's: there is no shorter way to a deep past.
    let n = 0
    const built = await many.time(depth, () => ({
      method: 'PUT',
      path: `${session}/state/cursor`,
      body: `{"step":${++n}}`,
    }))
    await settled(one, session)
    const measured = await interleave(stage.rounds, {
      head: () => read(one, () => `${session}/state/cursor`),
      past: () => read(one, () => `${session}/state/cursor?at=${1 + Math.floor(Math.random() * depth)}`),
    })
    const slower = ratios(measured.past, measured.head)
    return [
      {
        what: 'read at an old version / at the head',
        measured: median(slower),
        unit: 'x',
        target: { atMost: 1.5 },
        note: spread(slower),
      },
      { what: 'read at the head', measured: median(measured.head), unit: 'ms' },
      {
        what: 'versions written while building',
        measured: (depth / built) * 1000,
        unit: '/s',
        note: 'updates of one key at 16 connections, the catalog being fed',
      },
    ]
  },
}

async function read(on: Connections, path: () => string): Promise<number> {
  return median(await on.latencies(readsPerRound, () => ({ method: 'GET', path: path() })))
}
