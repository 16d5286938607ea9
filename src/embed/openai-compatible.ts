// Vectors from any server that speaks `POST …/embeddings`. Its address and key are the operator's, never a caller's: a session
// chooses the model, not where the Worker sends its requests.

import { type Embedder, EmbeddingFailed } from './provider.ts'
import { isNumbers } from './workers-ai.ts'

export interface OpenAiSettings {
  LARES_EMBEDDINGS_URL?: string
  LARES_EMBEDDINGS_KEY?: string
}

const batch = 64
const patienceMs = 15_000

export function openAiCompatible(env: OpenAiSettings, model: string, dims: number): Embedder {
  return {
    model,
    async embed(texts) {
      const url = env.LARES_EMBEDDINGS_URL
      if (url === undefined || url === '') throw new EmbeddingFailed('the Worker has no LARES_EMBEDDINGS_URL')
      const vectors: Float32Array[] = []
      for (let i = 0; i < texts.length; i += batch) {
        const input = texts.slice(i, i + batch)
        const answer = await ask(url, env.LARES_EMBEDDINGS_KEY, { model, input, encoding_format: 'float' })
        vectors.push(...vectorsIn(answer, input.length, dims))
      }
      return vectors
    },
  }
}

async function ask(url: string, key: string | undefined, body: object): Promise<unknown> {
  try {
    const response = await fetch(`${url.replace(/\/$/, '')}/embeddings`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key === undefined || key === '' ? {} : { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(patienceMs),
    })
    if (response.ok) return await response.json()
    await response.body?.cancel()
    throw new EmbeddingFailed(`the embeddings server answered ${response.status}`)
  } catch (error) {
    if (error instanceof EmbeddingFailed) throw error
    console.warn('the embeddings server did not answer', error instanceof Error ? error.message : 'unknown')
    throw new EmbeddingFailed('the embeddings server did not answer')
  }
}

/** Each of the answer's vectors says which text it is of; their order is not to be relied on. */
function vectorsIn(answer: unknown, count: number, dims: number): Float32Array[] {
  const data = typeof answer === 'object' && answer !== null && 'data' in answer ? answer.data : null
  const vectors: Float32Array[] = []
  for (const one of Array.isArray(data) ? data : []) {
    if (typeof one !== 'object' || one === null || !('embedding' in one) || !isNumbers(one.embedding))
      continue
    const index = 'index' in one && typeof one.index === 'number' ? one.index : vectors.length
    vectors[index] = Float32Array.from(one.embedding)
  }
  for (let i = 0; i < count; i++)
    if (vectors[i] === undefined)
      throw new EmbeddingFailed(`the embeddings server answered without vectors of ${dims} dimensions`)
  return vectors.slice(0, count)
}
