// What the suites share: the edges, each started once and only when one asks for it, and connections to them.

import { type Edge, startFloor, startInstrumented, startLares } from './edges.ts'
import { Connections } from './load.ts'

const starts = { lares: startLares, instrumented: startInstrumented, floor: startFloor }
export type EdgeName = keyof typeof starts

export class Stage {
  /** How often each comparison is made. */
  readonly rounds: number
  readonly #edges = new Map<EdgeName, Promise<Edge>>()
  readonly #open: Connections[] = []
  #sessions = 0

  constructor({ rounds }: { rounds: number }) {
    this.rounds = rounds
  }

  async connect(name: EdgeName, connections: number): Promise<Connections> {
    const { url, pid, key } = await this.#edge(name)
    const opened = new Connections(url, connections, pid, key)
    this.#open.push(opened)
    return opened
  }

  /** A new session; its path. */
  async session(on: Connections): Promise<string> {
    const path = `/v1/sessions/bench-${++this.#sessions}`
    await on.ask({ method: 'PUT', path, body: '{}' })
    return path
  }

  async close(): Promise<void> {
    await Promise.all(this.#open.map((connections) => connections.close()))
    for (const edge of this.#edges.values()) await (await edge).close()
  }

  #edge(name: EdgeName): Promise<Edge> {
    const edge = this.#edges.get(name) ?? starts[name]()
    this.#edges.set(name, edge)
    return edge
  }
}
