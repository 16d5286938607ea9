// Reading what a client sent: strict UTF-8, strict JSON, one schema. Everything that is wrong here is a 4xx that says where.

import type { z } from 'zod'
import { parseJson, pointer, ValueError } from '../protocol/canonical.ts'
import { fail } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import { firstIssue } from '../protocol/values.ts'
import type { EdgeContext } from './context.ts'
import { Problem } from './reply.ts'

/** The request's JSON, checked and turned into what the schema makes of it. */
export async function readBody<S extends z.ZodType>(
  c: EdgeContext,
  schema: S,
  text?: string,
): Promise<z.output<S>> {
  return check(schema, parse(text ?? (await readText(c))))
}

/** A body that may be left out: then it is `{}`. */
export async function readOptionalBody<S extends z.ZodType>(
  c: EdgeContext,
  schema: S,
  text?: string,
): Promise<z.output<S>> {
  const sent = text ?? (await readText(c))
  return check(schema, sent === '' ? {} : parse(sent))
}

/** The body as text, whatever it is; refused when it is too long, of another type, or not UTF-8. */
export async function readText(c: EdgeContext): Promise<string> {
  const type = c.req.header('content-type')
  if (type !== undefined && !/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type)) {
    throw new Problem(fail('unsupported_media_type', 'this takes Content-Type: application/json'))
  }
  const bytes = await readBytes(c.req.raw, limits.jsonBodyBytes)
  try {
    return decoder.decode(bytes)
  } catch {
    throw new Problem(fail('invalid', 'the body is not UTF-8', { pointer: '' }))
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The body's bytes; a longer body is refused before it is held. */
export async function readBytes(request: Request, most: number): Promise<ArrayBuffer | Uint8Array> {
  const declared = request.headers.get('content-length')
  if (declared !== null) {
    if (Number(declared) > most) throw tooLarge(most)
    return request.arrayBuffer()
  }
  if (request.body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body) {
    size += chunk.byteLength
    if (size > most) throw tooLarge(most)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(limit: number): Problem {
  return new Problem(fail('too_large', `the body may have at most ${limit} bytes`, { limit }))
}

function parse(text: string): unknown {
  if (text === '') throw new Problem(fail('invalid', 'the body is empty; this takes JSON', { pointer: '' }))
  try {
    return parseJson(text)
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    throw new Problem(fail('invalid', error.message, { pointer: pointer(error.path) }))
  }
}

export function check<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const { message, ...where } = firstIssue(parsed.error)
  throw new Problem(fail(where.limit === undefined ? 'invalid' : 'too_large', message, where))
}
