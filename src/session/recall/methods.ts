// The Session's methods for memory. What asks the index waits until the index is true to the entries.

import type { Outcome } from '../../protocol/errors.ts'
import type { Embedding, MemoryQuery, MemoryRpc, RecallQuery } from '../memory-rpc.ts'
import type { At, Caller } from '../rpc.ts'
import { TableMethods } from '../tables/methods.ts'
import type { World } from '../world.ts'
import { VectorCache } from './cache.ts'
import { listMemories, readMemory } from './read.ts'
import { recall } from './recall.ts'
import { embedMemories, memoryState, unembedded } from './reembed.ts'
import { spaceOf } from './settings.ts'
import { isStale, rebuildSlice } from './upkeep.ts'

export abstract class MemoryMethods extends TableMethods implements MemoryRpc {
  #vectors: VectorCache | null = null
  #rebuilding: Promise<void> | null = null

  async listMemories(query: MemoryQuery) {
    return this.with((world) => listMemories(world, query))
  }

  async readMemory(id: string, at: At) {
    return this.with((world) => readMemory(world, id, at))
  }

  async recall(query: RecallQuery) {
    return this.indexed((world) => recall(world, this.#cache(world), query))
  }

  async memorySpace() {
    return this.indexed((world) => ({
      ok: true as const,
      version: world.head.version,
      space: spaceOf(world),
    }))
  }

  async memoryState() {
    return this.indexed((world) => ({
      ok: true as const,
      version: world.head.version,
      state: memoryState(world),
    }))
  }

  async unembedded(limit: number) {
    return this.indexed((world) => ({
      ok: true as const,
      version: world.head.version,
      items: unembedded(world, limit),
    }))
  }

  async embed(caller: Caller, vectors: { id: string; digest: string; embedding: Embedding }[]) {
    return this.indexed(this.committing((world) => embedMemories(world, caller, vectors)))
  }

  protected override indexReady(): Promise<unknown> {
    return this.indexed(() => ({ ok: true }))
  }

  /** Acts once the index speaks of all there is. */
  protected async indexed<T>(act: (world: World) => Outcome<T> | Promise<Outcome<T>>): Promise<Outcome<T>> {
    return this.with(async (world) => {
      while (isStale(world)) {
        // `finally` runs after the assignment, however soon the work is done.
        this.#rebuilding ??= this.#rebuild(world).finally(() => {
          this.#rebuilding = null
        })
        await this.#rebuilding
        const closed = world.closed()
        if (closed) return closed
      }
      return act(world)
    })
  }

  /** In slices, between which other requests have their turn. */
  async #rebuild(world: World): Promise<void> {
    while (world.state === 'live' && rebuildSlice(world)) await new Promise((resolve) => setTimeout(resolve))
    this.#vectors?.drop()
  }

  #cache(world: World): VectorCache {
    this.#vectors ??= new VectorCache(world)
    return this.#vectors
  }
}
