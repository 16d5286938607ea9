// The vector index of one world, held in memory between requests: loaded when it is first needed, brought up to date by what the
// journal says has changed since, and thrown away when that would cost more than loading. What was rolled back is in no journal.

import type { Space } from '../memory-rpc.ts'
import { touchedBetween } from '../time/journal.ts'
import type { World } from '../world.ts'
import { placesOf } from './docs.ts'
import { VectorIndex } from './vector-index.ts'

/** Versions after which the journal is longer than the table. */
const farBehind = 2000

type Row = { doc: number; vector: ArrayBuffer }

export class VectorCache {
  readonly #world: World
  #held: { model: string; version: number; index: VectorIndex } | null = null

  constructor(world: World) {
    this.#world = world
  }

  /** Forgets everything: the rows were made anew. */
  drop(): void {
    this.#held = null
  }

  indexOf(space: Space): VectorIndex {
    const { version } = this.#world.head
    const held = this.#held
    if (
      held === null ||
      held.model !== space.model ||
      held.index.dims !== space.dims ||
      version - held.version > farBehind
    )
      return this.#load(space)
    if (held.version < version) this.#follow(space, held)
    held.version = version
    return held.index
  }

  #load({ model, dims }: Space): VectorIndex {
    const { sql, head } = this.#world
    const index = new VectorIndex(dims)
    // The key is not read: of 50,000 memories the names alone would take megabytes.
    for (const { doc, vector } of sql.exec<Row>('SELECT doc, vector FROM memory_docs WHERE model = ?', model))
      if (vector.byteLength === dims + 4) index.set(doc, new Uint8Array(vector))
    this.#held = { model, version: head.version, index }
    return index
  }

  #follow(space: Space, held: { version: number; index: VectorIndex }): void {
    const { sql, head } = this.#world
    const touched = touchedBetween(this.#world, held.version, head.version, { kinds: ['memory'], prefix: '' })
    for (const { key } of touched) this.#refresh(sql, space, held.index, key)
  }

  #refresh(sql: SqlStorage, { model, dims }: Space, index: VectorIndex, key: string): void {
    for (const doc of placesOf(sql, key)) {
      const row = sql
        .exec<Row>('SELECT doc, vector FROM memory_docs WHERE doc = ? AND model = ?', doc, model)
        .toArray()[0]
      if (row?.vector.byteLength === dims + 4) index.set(doc, new Uint8Array(row.vector))
      else index.delete(doc)
    }
  }
}
