// Long logs, made in the fewest requests: a thousand events a commit.

import type { Connections } from './load.ts'

export async function fillLog(on: Connections, session: string, events: number): Promise<void> {
  const perCommit = 1000
  for (let first = 0; first < events; first += perCommit) {
    const ops = Array.from({ length: Math.min(perCommit, events - first) }, (_, i) => ({
      op: 'log.append',
      payload: { step: first + i, text: 'something that happened' },
    }))
    await on.ask({ method: 'POST', path: `${session}/commits`, body: JSON.stringify({ ops }) })
  }
}
