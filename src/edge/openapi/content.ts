// The few shapes that bodies and answers have.

import { z } from 'zod'
import type { Answer, Content } from './route.ts'
import type { SharedHeader } from './shared.ts'

export function json(schema: z.ZodType): Content {
  return { json: schema }
}

export function bytes(type = 'application/octet-stream'): Content {
  return { bytes: type }
}

/** An answer about a session. */
export function answer(text: string, schema: z.ZodType, ...headers: SharedHeader[]): Answer {
  return { text, content: json(schema), headers: ['Lares-Version', ...headers] }
}

/** A page of a list of a session's. */
export function page(text: string, item: z.ZodType): Answer {
  return answer(text, pageOf(item))
}

export function pageOf(item: z.ZodType): z.ZodType {
  return z.object({
    items: z.array(item),
    next: z
      .string()
      .nullable()
      .meta({ description: 'The next page’s `cursor`; null when this was the last' }),
  })
}

export const unchanged: Answer = { text: 'You have it already', headers: ['Lares-Version', 'ETag'] }
export const anyJson = z.unknown().meta({ description: 'Any JSON value' })
