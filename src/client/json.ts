// JSON on its way out. `JSON.stringify` turns NaN into null, a Map into {} and a hole into null without a word; a world
// must not be changed by its own client, so such values are refused with a pointer.

import { pointer } from '../protocol/canonical.ts'
import { limits } from '../protocol/limits.ts'
import { invalid } from './errors.ts'

/**
 * JSON text of a request body. Members that are undefined are left out, and `toJSON` is honoured (a Date becomes its text),
 * as everywhere in JavaScript.
 *
 * @throws {LaresError} `invalid`, with a pointer, at NaN, an infinity, a bigint, a function, a symbol, undefined in an array,
 * a lone surrogate, an object that is not plain, or a nesting too deep to be anything but a cycle.
 * @example encodeJson({ a: [1, undefined] }) // throws, pointer '/a/1'
 */
export function encodeJson(body: unknown): string {
  const found = offence(body, 0)
  if (found !== null) throw invalid(found.why, pointer(found.path))
  return JSON.stringify(body)
}

interface Offence {
  why: string
  path: (string | number)[]
}

/** Levels a request may put around a value. */
const envelope = 8

function offence(value: unknown, depth: number): Offence | null {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() ? null : here('a string holds a lone surrogate')
    case 'boolean':
      return null
    case 'number':
      return Number.isFinite(value) ? null : here(`${value} is not JSON`)
    case 'object':
      return value === null ? null : within(value, depth)
    default:
      return here(value === undefined ? 'a value is required' : `a ${typeof value} is not JSON`)
  }
}

function within(object: object, depth: number): Offence | null {
  if (depth > limits.depth + envelope) return here(`nested deeper than ${limits.depth}`)
  if ('toJSON' in object && typeof object.toJSON === 'function') return offence(object.toJSON(), depth)
  if (Array.isArray(object)) {
    for (let i = 0; i < object.length; i++) {
      const found = offence(object[i], depth + 1)
      if (found !== null) return under(i, found)
    }
    return null
  }
  if (!isPlain(object)) return here('not a plain object')
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue
    const found = key.isWellFormed()
      ? offence(value, depth + 1)
      : here('a member name holds a lone surrogate')
    if (found !== null) return under(key.toWellFormed(), found)
  }
  return null
}

function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object)
  // Seen by its own prototype's lack of one, so that an object of another realm (a frame, a vm) is plain too.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function here(why: string): Offence {
  return { why, path: [] }
}

function under(step: string | number, found: Offence): Offence {
  found.path.unshift(step)
  return found
}
