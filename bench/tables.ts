// Tables: what rows cost to insert, and what a question costs beside the same one to a plain SQLite table in the same object.

import type { Suite } from './suite.ts'
import { median, ratios, spread } from './support/statistics.ts'
import type { TablesMeasured } from './support/tables-inside.ts'

const rows = 100_000

export const benchTables: Suite = {
  name: 'tables',
  about: `a table of ${rows.toLocaleString('en')} rows, inside the object`,
  async run(stage) {
    const one = await stage.connect('instrumented', 1)
    const session = await stage.session(one)
    const answer = await one.ask(
      { method: 'GET', path: session },
      { 'bench-tables': JSON.stringify({ rows, rounds: stage.rounds * 3 }) },
    )
    const { inserts, plain, head, old }: TablesMeasured = JSON.parse(answer.text)
    const dearer = ratios(head, plain)
    const older = ratios(old, head)
    return [
      {
        what: 'rows inserted, 10,000 in one commit',
        measured: median(inserts),
        unit: '/s',
        target: { atLeast: 40_000 },
        note: spread(inserts),
      },
      {
        what: 'filter and sum by SQL / the same on a plain table',
        measured: median(dearer),
        unit: 'x',
        target: { atMost: 3 },
        note: spread(dearer),
      },
      {
        what: 'the same at an old version / at the head',
        measured: median(older),
        unit: 'x',
        target: { atMost: 2 },
        note: spread(older),
      },
      { what: 'filter and sum by SQL', measured: median(head), unit: 'ms' },
    ]
  },
}
