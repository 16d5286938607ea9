// Rows cost money, so they are counted and not timed: what a write writes, and what a page in the middle of a long log reads.

import type { Figure, Suite } from './suite.ts'
import { fillLog } from './support/fill.ts'
import type { Call, Connections } from './support/load.ts'

const long = 100_000

export const benchRows: Suite = {
  name: 'rows',
  about: 'rows of the object, counted',
  async run(stage) {
    const one = await stage.connect('instrumented', 1)
    const session = await stage.session(one)
    const append: Call = { method: 'POST', path: `${session}/log`, body: '{"payload":{"text":"hello"}}' }
    const set: Call = { method: 'PUT', path: `${session}/state/plan`, body: '{"steps":["look","think"]}' }
    const written = async (call: Call, headers?: Record<string, string>) =>
      rows(one, 'written', call, headers)
    const figures: Figure[] = [
      atMost('written by an append', await written(append), 2),
      atMost('with an idempotency key', await written(append, { 'idempotency-key': 'once' }), 3),
      atMost('written by the first write of a state key', await written(set), 2),
      atMost('written by its update', await written({ ...set, body: '{"steps":["act"]}' }), 3),
    ]
    await fillLog(one, session, long)
    const page: Call = { method: 'GET', path: `${session}/log?after=${long / 2}&limit=100` }
    figures.push(
      atMost(
        `read by a page of 100 from the middle of ${long.toLocaleString('en')} events`,
        await rows(one, 'read', page),
        110,
      ),
    )
    return figures
  },
}

async function rows(
  on: Connections,
  what: 'read' | 'written',
  call: Call,
  headers?: Record<string, string>,
): Promise<number> {
  const answer = await on.ask(call, { 'bench-count': 'yes', ...headers })
  return Number(answer.headers[`bench-rows-${what}`])
}

function atMost(what: string, measured: number, most: number): Figure {
  return { what, measured, unit: 'rows', target: { atMost: most } }
}
