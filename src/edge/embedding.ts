// Vectors for what is about to be remembered or asked, made here at the edge, before the object hears of it: no write ever waits
// for a model.

import { EmbeddingFailed, embedderOf } from '../embed/provider.ts'
import { packFloats } from '../protocol/vectors.ts'
import type { Embedding, Space } from '../session/memory-rpc.ts'
import type { WireOperation } from '../session/rpc.ts'
import type { Visit } from './door.ts'
import { Problem } from './reply.ts'

/** The operations, each with a vector whose text wants one and can have one. */
export async function embedOps(visit: Visit, ops: readonly WireOperation[]): Promise<WireOperation[]> {
  const wanting = ops.flatMap((op, index) => {
    const text = textOf(op)
    return text === null ? [] : [{ index, text }]
  })
  if (wanting.length === 0) return [...ops]
  const space = await spaceOf(visit)
  // The built-in vectors follow from the text: the index makes them itself.
  if (space.provider === 'static') return [...ops]
  const made = await embedTexts(
    visit,
    space,
    wanting.map(({ text }) => text),
  )
  const embeddings = new Map(made.vectors?.map((one, i) => [wanting[i]?.index ?? -1, one]))
  return ops.map((op, index): WireOperation => {
    const embedding = embeddings.get(index)
    return embedding === undefined ? op : { ...op, embedding }
  })
}

/** A text that is stored without a vector of its own. */
function textOf(op: WireOperation): string | null {
  if (op.op !== 'memory.add' && op.op !== 'memory.update') return null
  return op.vector === undefined ? (op.text ?? null) : null
}

export async function spaceOf({ stub }: Visit): Promise<Space> {
  const read = await stub.memorySpace()
  if (!read.ok) throw new Problem(read)
  return read.space
}

export interface Embedded {
  /** Null where there are none to be had. */
  vectors: Embedding[] | null
  reason: string | null
}

export async function embedTexts({ c }: Visit, space: Space, texts: readonly string[]): Promise<Embedded> {
  const embedder = embedderOf(c.env, space)
  if (embedder === null) return { vectors: null, reason: null }
  try {
    const vectors = await embedder.embed(texts)
    return { vectors: vectors.map((v) => ({ model: embedder.model, data: packFloats(v) })), reason: null }
  } catch (error) {
    if (!(error instanceof EmbeddingFailed)) throw error
    return { vectors: null, reason: error.message }
  }
}
