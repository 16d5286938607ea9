// The part of a Session's RPC surface that is about memory.

import type {
  MemoryShown,
  MemoryState,
  Outcome,
  PackedVector,
  Provider,
  Recalled,
} from '../protocol/index.ts'
import type { At, Caller, PageQuery, PageRead } from './rpc.ts'

/** A vector that the edge made of a text, before the commit that stores it. */
export interface Embedding {
  model: string
  data: PackedVector
}

/** The one space in which a session's memories are near each other or far. */
export interface Space {
  provider: Provider
  model: string
  dims: number
}

export interface MemoryQuery extends PageQuery {
  /** A memory must have all of them. */
  tags: readonly string[]
  filter: { [name: string]: unknown } | null
  pinned: boolean | null
}

export interface MemoryRead {
  version: number
  digest: string
  memory: MemoryShown
  vector: number[] | null
}

export interface RecallQuery {
  query: string | null
  /** Of the query, or the caller's own. */
  vector: { data: PackedVector; model: string | null } | null
  k: number
  mode: 'text' | 'vector' | 'hybrid'
  filter: { [name: string]: unknown } | null
  tags: readonly string[]
  at: At
}

export interface RecallRead {
  version: number
  items: Recalled[]
  /** Why there was no nearest by vector, where there should have been. */
  withoutVector: string | null
}

/** A memory that has no vector of the present model. */
export interface Unembedded {
  id: string
  text: string
  digest: string
}

export interface MemoryRpc {
  listMemories(query: MemoryQuery): Promise<Outcome<PageRead>>
  readMemory(id: string, at: At): Promise<Outcome<MemoryRead>>
  recall(query: RecallQuery): Promise<Outcome<RecallRead>>
  memorySpace(): Promise<Outcome<{ version: number; space: Space }>>
  memoryState(): Promise<Outcome<{ version: number; state: MemoryState }>>
  /** What is to be embedded next, and by which model. */
  unembedded(limit: number): Promise<Outcome<{ version: number; items: Unembedded[] }>>
  /** Gives memories their vectors, where their text is still the one that was embedded. */
  embed(
    caller: Caller,
    vectors: { id: string; digest: string; embedding: Embedding }[],
  ): Promise<Outcome<{ version: number; embedded: number }>>
}
