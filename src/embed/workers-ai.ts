// Vectors from the platform's own models, through the binding `AI`, if the Worker has one.

import { type Embedder, EmbeddingFailed } from './provider.ts'

/** As much of the binding as is used here; its own types name every model there is. */
export interface AiBinding {
  run(model: string, input: { text: readonly string[] }): Promise<unknown>
}

/** Texts that the models take at once. */
const batch = 100

export function workersAi(binding: AiBinding | undefined, model: string): Embedder {
  return {
    model,
    async embed(texts) {
      if (binding === undefined) throw new EmbeddingFailed('the Worker has no binding AI')
      const vectors: Float32Array[] = []
      for (let i = 0; i < texts.length; i += batch) {
        const answer = await run(binding, model, texts.slice(i, i + batch))
        for (const numbers of numbersIn(answer)) vectors.push(Float32Array.from(numbers))
      }
      return vectors
    },
  }
}

async function run(binding: AiBinding, model: string, text: readonly string[]): Promise<unknown> {
  try {
    return await binding.run(model, { text })
  } catch (error) {
    console.warn('Workers AI did not embed', error instanceof Error ? error.message : 'unknown')
    throw new EmbeddingFailed('Workers AI did not answer')
  }
}

function numbersIn(answer: unknown): number[][] {
  const data = typeof answer === 'object' && answer !== null && 'data' in answer ? answer.data : null
  if (!Array.isArray(data) || !data.every(isNumbers))
    throw new EmbeddingFailed('Workers AI answered without vectors')
  return data
}

export function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((x) => typeof x === 'number')
}
