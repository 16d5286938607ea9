// A whole world, read back through the SDK, in a form that two worlds can be compared in: everything but times.

import { Lares, type Session } from '../../src/client/index.ts'

export interface World {
  version: number
  log: unknown[]
  state: unknown[]
  files: unknown[]
  commits: unknown[]
}

export function sessionOf(edge: { url: string; key: string }, id: string): Session {
  return new Lares({ url: edge.url, token: edge.key }).session(id)
}

export async function readWorld(session: Session): Promise<World> {
  const { version } = await session.get()
  const world = session.at(version)
  const log = (await world.log.list({ limit: 7 }).all()).map(({ at: _, ...event }) => event)
  const state = await world.state.list({ limit: 3 }).all()
  const files: unknown[] = []
  for await (const file of world.files.list({ limit: 2 })) {
    files.push({ ...file, content: await (await world.files.get(file.path)).bytes() })
  }
  const commits = (await session.commits.list().all()).map(({ at: _, digest: __, ...commit }) => commit)
  return { version, log, state, files, commits }
}
