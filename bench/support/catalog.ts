// Waiting for the catalog: what a round left for the projection to do must not be done in its rival's round.

import type { Connections } from './load.ts'

/** How many commits the catalog lacks now. */
export async function lag(on: Connections, session: string): Promise<number> {
  const { version } = JSON.parse((await on.ask({ method: 'GET', path: session })).text)
  const id = session.slice(session.lastIndexOf('/') + 1)
  const listed = JSON.parse((await on.ask({ method: 'GET', path: `/v1/sessions?prefix=${id}&limit=1` })).text)
  return version - (listed.items[0]?.projected_version ?? 0)
}

/** Waits until the catalog has everything; milliseconds it took. */
export async function settled(on: Connections, session: string): Promise<number> {
  const start = performance.now()
  while ((await lag(on, session)) > 0) await new Promise((resolve) => setTimeout(resolve, 250))
  return performance.now() - start
}
