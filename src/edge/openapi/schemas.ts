// JSON Schema from the zod schemas that validate, as OpenAPI 3.1 takes it: the same dialect, with every named schema moved to
// `components`. A request's body is described as its author writes it, an answer as its reader gets it.

import { z } from 'zod'

export type JsonSchema = { [keyword: string]: unknown }

export type Direction = 'request' | 'answer'

/** Collects the named schemas that a document refers to. */
export class Schemas {
  readonly components: Record<string, JsonSchema> = {}

  of(schema: z.ZodType, direction: Direction): JsonSchema {
    const {
      $schema: _,
      $defs,
      ...root
    } = z.toJSONSchema(schema, {
      io: direction === 'request' ? 'input' : 'output',
      // A custom check is a value that JSON Schema cannot say more of than "any JSON".
      unrepresentable: 'any',
    })
    for (const [name, definition] of Object.entries($defs ?? {})) {
      this.components[name] ??= this.#tidy(definition, direction)
    }
    return this.#tidy(root, direction)
  }

  /** Makes one schema fit its place in the document, and all that it holds. */
  #tidy(node: unknown, direction: Direction): JsonSchema {
    // What `toJSONSchema` makes of a schema, and of every member that holds schemas, is an object.
    return this.#walk(node, direction) as JsonSchema
  }

  #walk(node: unknown, direction: Direction): unknown {
    if (Array.isArray(node)) return node.map((one) => this.#walk(one, direction))
    if (typeof node !== 'object' || node === null) return node
    const out: JsonSchema = {}
    for (const [keyword, value] of Object.entries(node)) {
      if (isNoise(keyword, value)) continue
      // An answer may gain members; a request with an unknown one is refused.
      if (direction === 'answer' && keyword === 'additionalProperties' && value === false) continue
      out[keyword] = keyword === '$ref' ? moved(value) : this.#walk(value, direction)
    }
    return this.#named(out)
  }

  /** Operations are named by their `op`, so that a new one has its name by itself. */
  #named(schema: JsonSchema): JsonSchema {
    const { oneOf, properties } = schema
    if (Array.isArray(oneOf) && oneOf.every(isOperationRef)) return { ...schema, discriminator }
    const op = isObject(properties) && isObject(properties.op) ? properties.op.const : undefined
    if (typeof op !== 'string') return schema
    this.components[op] = schema
    return { $ref: `${place}${op}` }
  }
}

const place = '#/components/schemas/'
const discriminator = { propertyName: 'op' }

function moved(ref: unknown): string {
  return String(ref).replace('#/$defs/', place)
}

/** Bounds that every integer of JSON in JavaScript has, and what is said by the place already. */
function isNoise(keyword: string, value: unknown): boolean {
  if (keyword === 'maximum') return value === Number.MAX_SAFE_INTEGER
  if (keyword === 'minimum') return value === Number.MIN_SAFE_INTEGER
  return keyword === 'id' && typeof value === 'string'
}

function isOperationRef(one: unknown): boolean {
  return isObject(one) && typeof one.$ref === 'string' && /\/[a-z]+\.[a-z]+$/.test(one.$ref)
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
