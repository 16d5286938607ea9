// The zod schemas that everything else is made of: values, names, references.

import { z } from 'zod'
import { type Canonical, canonical, type Json, pointer, utf8Length, ValueError } from './canonical.ts'
import { limits } from './limits.ts'
import {
  fleetPattern,
  fleetRule,
  keyProblem,
  pathProblem,
  sessionIdPattern,
  sessionIdRule,
  sha256Pattern,
} from './names.ts'
import { parseRef } from './refs.ts'

/** Any JSON value in, its canonical text out. */
export function jsonValue(most: number = limits.valueBytes) {
  return z
    .custom<Json>((value) => value !== undefined, { error: 'required' })
    .transform((value, context): Canonical => {
      try {
        const text = canonical(value)
        // A text of n UTF-16 units has at most 3n bytes: most values need no count.
        if (text.length * 3 > most && utf8Length(text) > most) {
          context.addIssue({ code: 'custom', message: `larger than ${most} bytes`, params: { limit: most } })
          return z.NEVER
        }
        return text
      } catch (error) {
        if (!(error instanceof ValueError)) throw error
        context.addIssue({ code: 'custom', message: error.message, path: error.path })
        return z.NEVER
      }
    })
    .meta({ description: 'Any JSON value' })
}

/** Text that may be stored: well-formed Unicode of at most `most` characters. */
export function text(most: number) {
  return z
    .string()
    .max(most)
    .refine((s) => s.isWellFormed(), 'must be well-formed Unicode')
}

function named(problem: (name: string) => string | null, description: string) {
  return z
    .string()
    .superRefine((name, context) => {
      const message = problem(name)
      if (message !== null) context.addIssue({ code: 'custom', message })
    })
    .meta({ description })
}

export const stateKey = named(keyProblem, 'A state key: at most 512 bytes of UTF-8')
export const filePath = named(pathProblem, 'A file path: relative, at most 1,024 bytes, no . or .. segments')
export const sessionId = z.string().regex(sessionIdPattern, `not a session id: ${sessionIdRule}`)
export const fleetName = z.string().regex(fleetPattern, `not a fleet name: ${fleetRule}`)
export const sha256 = z.string().regex(sha256Pattern, 'not a SHA-256 in lowercase hex')
export const version = z.int().min(0)
export const seq = z.int().min(1)
/** Epoch milliseconds or an RFC 3339 instant. */
export const timestamp = z.iso.datetime({ offset: true })

/** zod's records drop a member called `__proto__` without a word; here it is refused. */
export const noProto = z
  .custom<object>(
    (record) => typeof record !== 'object' || record === null || !Object.hasOwn(record, '__proto__'),
    'nothing can be called __proto__',
  )
  .meta({ description: 'Any names and texts' })

export const labels = noProto
  .pipe(z.record(text(limits.labelChars).min(1), text(limits.labelChars)))
  .refine((record) => Object.keys(record).length <= limits.labels, `at most ${limits.labels} labels`)

export const ref = z.string().refine((s) => s.isWellFormed() && parseRef(s) !== null, 'not a reference')

/** The first thing that is wrong: what to say of it, and the RFC 6901 pointer to it. */
export function firstIssue(error: z.ZodError): { message: string; pointer: string; limit?: number } {
  const [issue] = error.issues
  return issue === undefined ? { message: 'not well-formed', pointer: '' } : told(issue, [])
}

type Issue = z.core.$ZodIssue

function told(issue: Issue, above: PropertyKey[]): { message: string; pointer: string; limit?: number } {
  const path = [...above, ...issue.path]
  if (issue.code === 'invalid_union') {
    const [inner] = likeliest(issue.errors)
    if (inner !== undefined) return told(inner, path)
  }
  if (issue.code === 'unrecognized_keys') path.push(...issue.keys.slice(0, 1))
  const limit: unknown = issue.code === 'custom' ? issue.params?.limit : undefined
  // JSON has no undefined: the member is not there.
  const absent = issue.code === 'invalid_type' && issue.message.endsWith('received undefined')
  const message = absent ? 'required' : issue.message
  return { message, pointer: pointer(path), ...(typeof limit === 'number' ? { limit } : {}) }
}

/** Of the shapes a value may have, the one its author meant: one that knows all its members. */
function likeliest(branches: readonly Issue[][]): Issue[] {
  const knows = branches.filter(
    (issues) => !issues.some(({ code, path }) => code === 'unrecognized_keys' && path.length === 0),
  )
  return knows.at(-1) ?? branches.at(-1) ?? []
}
