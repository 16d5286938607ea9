// Where vectors come from: one small interface, and one file a provider. What fails here fails no write: a memory without a
// vector is found by its words, and gets its vector later.

import type { Env } from '../env.ts'
import type { Provider } from '../protocol/memory.ts'
import { openAiCompatible } from './openai-compatible.ts'
import { embedStatic, staticModel } from './static.ts'
import { workersAi } from './workers-ai.ts'

export interface Embedder {
  readonly model: string
  /** A vector for each text, in their order. Throws `EmbeddingFailed` when there is none to be had. */
  embed(texts: readonly string[]): Promise<Float32Array[]>
}

/** Why there is no vector, in words that a client may read. */
export class EmbeddingFailed extends Error {}

/** The provider of a session's memory; null where only its callers make vectors. */
export function embedderOf(
  env: Env,
  { provider, model, dims }: { provider: Provider; model: string; dims: number },
): Embedder | null {
  switch (provider) {
    case 'static':
      return builtIn
    case 'workers-ai':
      return checked(workersAi(env.AI, model), dims)
    case 'openai-compatible':
      return checked(openAiCompatible(env, model, dims), dims)
    case 'caller':
      return null
  }
}

const builtIn: Embedder = {
  model: staticModel.name,
  async embed(texts) {
    return texts.map((text) => {
      const vector = embedStatic(text)
      if (vector === null) throw new EmbeddingFailed('the text has no words')
      return vector
    })
  },
}

/** What a provider answers is taken for a vector only if it is one, of the size the session's memory has. */
function checked({ model, embed }: Embedder, dims: number): Embedder {
  return {
    model,
    async embed(texts) {
      const vectors = await embed(texts)
      if (vectors.length !== texts.length)
        throw new EmbeddingFailed('the provider answered with too few vectors')
      for (const vector of vectors) {
        if (vector.length !== dims) {
          const both = `the provider’s vectors have ${vector.length} dimensions; this session’s memory has ${dims}`
          throw new EmbeddingFailed(both)
        }
        if (!vector.every(Number.isFinite) || !vector.some((x) => x !== 0))
          throw new EmbeddingFailed('the provider answered with something that is no vector')
      }
      return vectors
    },
  }
}
