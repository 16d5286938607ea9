// The language of memory: what a memory is, the operations on it, what can be asked of it, and which model its vectors are of.

import { z } from 'zod'
import { type Canonical, utf8Length } from './canonical.ts'
import { limits } from './limits.ts'
import { keyProblem } from './names.ts'
import { condition, from } from './ops-parts.ts'
import { jsonValue, text, timestamp, version } from './values.ts'
import { type PackedVector, packVector } from './vectors.ts'

export const memoryId = z
  .string()
  .superRefine((id, context) => {
    const message = id === '' ? 'an id must not be empty' : keyProblem(id)
    if (message !== null) context.addIssue({ code: 'custom', message })
  })
  .meta({ description: 'A memory’s id: 1 to 512 bytes of UTF-8' })

const memoryText = z
  .string()
  .min(1)
  .superRefine((value, context) => {
    if (!value.isWellFormed()) context.addIssue({ code: 'custom', message: 'must be well-formed Unicode' })
    if (value.length * 3 > limits.memoryBytes && utf8Length(value) > limits.memoryBytes) {
      const message = `larger than ${limits.memoryBytes} bytes`
      context.addIssue({ code: 'custom', message, params: { limit: limits.memoryBytes } })
    }
  })
  .meta({ description: `What is remembered: 1 to ${limits.memoryBytes} bytes of UTF-8` })

const tags = z
  .array(text(limits.tagChars).min(1))
  .max(limits.tags)
  .transform((list) => [...new Set(list)])
  .meta({ description: 'A set of words; one that is given twice counts once' })

const meta = jsonValue(limits.metaBytes)
  .refine((value): value is Canonical => value.startsWith('{'), 'must be an object')
  .meta({ type: 'object', description: 'Anything to filter by' })

/** Numbers in, the text of their single-precision bytes out: what is kept is what is compared. */
export const vector = z
  .array(z.number())
  .min(1)
  .max(limits.dimensions)
  .transform((numbers, context): PackedVector => {
    const packed = packVector(numbers)
    if (typeof packed === 'string') return packed
    context.addIssue({ code: 'custom', message: packed.problem, path: packed.path })
    return z.NEVER
  })
  .meta({ description: 'An embedding, in single precision; not all zeros' })

/** In the one form in which such times compare as text. */
const expiry = timestamp.transform((at, context): string => {
  const time = Date.parse(at)
  if (time <= Date.UTC(9999, 11, 31)) return new Date(time).toISOString()
  context.addIssue({ code: 'custom', message: 'this is beyond the year 9999' })
  return z.NEVER
})

const keyed = { if: condition, from }

/** A memory's fields, as an operation and as the body of `POST …/memories`. */
export const memoryFields = {
  id: memoryId.optional(),
  text: memoryText,
  tags: tags.optional(),
  meta: meta.optional(),
  vector: vector.optional(),
  pinned: z.boolean().optional().meta({ description: 'A pinned memory does not expire' }),
  expires_at: expiry.optional().meta({ description: 'From then on it is absent' }),
}

/** What a change of a memory may name: what it does not name stays. */
export const memoryChanges = {
  text: memoryText.optional(),
  tags: tags.optional(),
  meta: meta.optional().meta({ type: 'object', description: 'RFC 7396 merge patch' }),
  vector: vector.nullable().optional(),
  pinned: z.boolean().optional(),
  expires_at: expiry.nullable().optional(),
}

export const memoryAdd = z.strictObject({ op: z.literal('memory.add'), ...memoryFields, ...keyed })
export const memoryUpdate = z.strictObject({
  op: z.literal('memory.update'),
  id: memoryId,
  ...memoryChanges,
  ...keyed,
})
export const memoryForget = z.strictObject({ op: z.literal('memory.forget'), id: memoryId, ...keyed })

export const providers = ['static', 'workers-ai', 'openai-compatible', 'caller'] as const
export type Provider = (typeof providers)[number]

const model = text(limits.modelChars).min(1)
const dims = z.int().min(1).max(limits.dimensions)

/** Which vectors a session's memory has. */
export const memorySettings = z
  .strictObject({
    provider: z.enum(providers),
    model: model.optional(),
    dims: dims.optional(),
  })
  .refine(
    ({ provider, model, dims }) => provider === 'static' || (model !== undefined && dims !== undefined),
    {
      message: 'this provider needs model and dims',
      path: ['model'],
    },
  )
export const memoryConfigure = z.strictObject({
  op: z.literal('memory.configure'),
  settings: memorySettings,
  ...keyed,
})
export type MemorySettings = z.output<typeof memorySettings>

/** The state key that holds a session's settings of memory. As state they are versioned, forked, compared and merged. */
export const memorySettingsKey = 'lares.memory'

export const memoryBody = z.strictObject({ ...memoryFields, from })
export const memoryPatch = z.strictObject({ ...memoryChanges, from })

const filter = z.record(z.string(), z.unknown()).meta({ description: 'A filter; docs/filters.md' })

export const recallModes = ['text', 'vector', 'hybrid'] as const
export type RecallMode = (typeof recallModes)[number]

export const recallBody = z
  .strictObject({
    query: z
      .string()
      .refine((s) => s.isWellFormed(), 'must be well-formed Unicode')
      .refine((s) => utf8Length(s) <= limits.recallQueryBytes, `longer than ${limits.recallQueryBytes} bytes`)
      .optional(),
    vector: vector.optional(),
    k: z.int().min(1).max(limits.recall).default(10),
    mode: z.enum(recallModes).optional(),
    filter: filter.optional(),
    tags: z.array(text(limits.tagChars).min(1)).max(limits.tags).optional(),
    at: z.union([version, z.string().min(1).max(300)]).optional(),
  })
  .superRefine(({ query, vector, mode }, context) => {
    const issue = (message: string, name: string) =>
      context.addIssue({ code: 'custom', message, path: [name] })
    if (query === undefined && vector === undefined) issue('query or vector is needed', 'query')
    else if (query === undefined && mode !== undefined && mode !== 'vector')
      issue(`the mode ${mode} needs a query`, 'query')
  })
export type RecallBody = z.output<typeof recallBody>

// What answers look like

const time = z.string().meta({ description: 'RFC 3339, UTC, milliseconds' })

export const memoryShown = z
  .object({
    id: z.string(),
    text: z.string(),
    tags: z.array(z.string()),
    meta: z.record(z.string(), z.unknown()),
    pinned: z.boolean(),
    created_at: time,
    expires_at: time.nullable(),
    model: z.string().nullable().meta({ description: 'The model of the vector it carries, if any' }),
    since: version,
  })
  .meta({ id: 'Memory' })
export type MemoryShown = z.output<typeof memoryShown>

export const memoryWritten = z
  .object({ id: z.string(), version, at: time, digest: z.string() })
  .meta({ id: 'MemoryWritten' })

export const recalled = z
  .object({
    id: z.string(),
    text: z.string(),
    score: z.number(),
    why: z.object({
      text: z
        .number()
        .nullable()
        .meta({ description: 'BM25; larger is better. Null: not found by its words' }),
      vector: z.number().nullable().meta({ description: 'Cosine. Null: not among the nearest' }),
    }),
    tags: z.array(z.string()),
    meta: z.record(z.string(), z.unknown()),
    since: version,
  })
  .meta({ id: 'Recalled' })
export type Recalled = z.output<typeof recalled>

export const recallShown = z
  .object({
    items: z.array(recalled),
    mode: z.enum(recallModes),
    without: z
      .array(z.object({ half: z.enum(['text', 'vector']), reason: z.string() }))
      .optional()
      .meta({ description: 'What the mode asks for and the answer had to do without' }),
  })
  .meta({ id: 'Recall' })

export const memoryState = z
  .object({
    provider: z.enum(providers),
    model: z.string(),
    dims: z.int(),
    memories: z.int(),
    current: z.int().meta({ description: 'Memories with a vector of this model' }),
    missing: z.int().meta({ description: 'Memories without one: re-embed' }),
  })
  .meta({ id: 'MemorySettings' })
export type MemoryState = z.output<typeof memoryState>

export const reembedBody = z.strictObject({ limit: z.int().min(1).max(1000).default(200) })
export const reembedded = z
  .object({ version, embedded: z.int(), missing: z.int() })
  .meta({ id: 'Reembedded' })

/** A memory as its entry holds it. */
export interface MemoryValue {
  created_at: string
  expires_at?: string
  meta: Record<string, unknown>
  pinned?: true
  tags: string[]
  text: string
  vector?: { model: string; data: PackedVector }
}
