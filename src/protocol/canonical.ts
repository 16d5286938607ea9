// JSON values as Lares keeps them: RFC 8785 canonical text, or a refusal that points at the offending place.
// A value that would not come back equal (a lone surrogate, an integer a double cannot hold) is never stored.

import { limits } from './limits.ts'

/** RFC 8785 text of one JSON value. */
export type Canonical = string & { readonly __canonical: true }

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** Why a value cannot be kept, and where in it: `path` holds object keys and array indexes, outermost first. */
export class ValueError extends Error {
  readonly path: (string | number)[]
  readonly tooLarge: boolean
  constructor(message: string, path: (string | number)[] = [], tooLarge = false) {
    super(message)
    this.path = path
    this.tooLarge = tooLarge
  }
}

/**
 * Canonical text of a value that came from `parseJson` (or is plain JSON data).
 *
 * Serialisation is RFC 8785: keys sorted by UTF-16 code units, numbers and strings as ECMAScript writes them. Written here,
 * and not left to a library, because the same walk must refuse what would not survive, with a path, and count depth.
 *
 * @throws {ValueError} at a lone surrogate, NaN or infinity, a depth over `limits.depth`, or anything that is not JSON.
 * @example canonical({ b: 1, a: [true, null] }) // '{"a":[true,null],"b":1}'
 */
export function canonical(value: unknown): Canonical {
  // The cast names what `write` has just proved: the text is canonical.
  return write(value, 0) as Canonical
}

function write(value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) throw new ValueError('a string holds a lone surrogate')
      return JSON.stringify(value)
    case 'number':
      if (!Number.isFinite(value)) throw new ValueError('a number must be finite')
      return Object.is(value, -0) ? '0' : String(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      if (depth >= limits.depth) throw new ValueError(`nested deeper than ${limits.depth}`)
      return Array.isArray(value) ? writeArray(value, depth) : writeObject(value, depth)
    default:
      throw new ValueError(value === undefined ? 'a value is required' : `${typeof value} is not JSON`)
  }
}

function writeArray(array: unknown[], depth: number): string {
  let text = '['
  for (let i = 0; i < array.length; i++) {
    if (i > 0) text += ','
    text += within(i, array[i], depth)
  }
  return `${text}]`
}

function writeObject(object: object, depth: number): string {
  const proto: unknown = Object.getPrototypeOf(object)
  if (proto !== Object.prototype && proto !== null) throw new ValueError('not a plain JSON object')
  let text = '{'
  // The default sort compares UTF-16 code units, which is what RFC 8785 asks for.
  for (const key of Object.keys(object).sort()) {
    if (!key.isWellFormed())
      throw new ValueError('an object key holds a lone surrogate', [key.toWellFormed()])
    if (text.length > 1) text += ','
    // An own `__proto__` reads as the own property it is.
    text += `${JSON.stringify(key)}:${within(key, Reflect.get(object, key), depth)}`
  }
  return `${text}}`
}

function within(step: string | number, value: unknown, depth: number): string {
  try {
    return write(value, depth + 1)
  } catch (error) {
    if (error instanceof ValueError) error.path.unshift(step)
    throw error
  }
}

/**
 * Parses JSON text strictly: everything `JSON.parse` refuses, plus integers that would come back as another integer
 * and numbers beyond a double.
 *
 * @throws {ValueError} with a path to the offending number, or an empty path when the text is not JSON at all.
 * @example parseJson('{"n": 9007199254740993}') // throws, path ['n']
 */
export function parseJson(text: string): unknown {
  if (tooDeep(text)) throw new ValueError(`nested deeper than ${limits.depth + requestDepth}`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new ValueError('not valid JSON')
  }
  // Only a literal of 16 digits or more, or one with an exponent, can lose; the slow check is rare.
  if (/\d{16}|\d[eE]/.test(text)) refuseLossyNumbers(text)
  return value
}

/** Levels a request's own envelope may add around a value. */
const requestDepth = 8

/** Bounds nesting by counting brackets outside strings, so that hostile depth costs one linear pass and no stack. */
function tooDeep(text: string): boolean {
  const most = limits.depth + requestDepth
  // Cheap exit: with so few opening brackets there is no such depth.
  let opens = 0
  for (let i = text.indexOf('['); i !== -1 && opens <= most; i = text.indexOf('[', i + 1)) opens++
  for (let i = text.indexOf('{'); i !== -1 && opens <= most; i = text.indexOf('{', i + 1)) opens++
  if (opens <= most) return false
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 0x22) i = endOfString(text, i)
    else if (c === 0x5b || c === 0x7b) {
      if (++depth > most) return true
    } else if (c === 0x5d || c === 0x7d) depth--
  }
  return false
}

function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 0x5c) i++
    else if (c === 0x22) return i
  }
  return text.length
}

/** `source` is the number as written; engines pass it as the reviver's third argument. */
type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown

function refuseLossyNumbers(text: string): void {
  const reviver: Reviver = (key, value, context) => {
    if (typeof value === 'number' && context.source !== undefined && loses(context.source, value)) {
      throw new LossyNumber(context.source, key)
    }
    return value
  }
  try {
    // The standard library's type does not know the third argument yet.
    JSON.parse(text, reviver as (key: string, value: unknown) => unknown)
  } catch (error) {
    if (!(error instanceof LossyNumber)) throw error
    throw new ValueError(
      `the number ${error.source.slice(0, 60)} cannot be kept exactly; send it as a string`,
      pathTo(text, error),
    )
  }
}

class LossyNumber extends Error {
  readonly source: string
  readonly key: string
  constructor(source: string, key: string) {
    super()
    this.source = source
    this.key = key
  }
}

/**
 * True when the number is beyond a double, or denotes an integer, however it is spelt, whose canonical form denotes another
 * one. A fraction is as near as a double comes, but never nothing at all.
 */
function loses(source: string, value: number): boolean {
  if (!Number.isFinite(value)) return true
  // So short, and with no exponent, a number is always kept.
  if (source.length < 16 && !/[eE]/.test(source)) return false
  const written = decimal(source)
  if (value === 0) return written.digits !== ''
  if (written.exponent < 0) return false
  const kept = decimal(String(value))
  return written.digits !== kept.digits || written.exponent !== kept.exponent
}

/** The significant digits of a number as text, and the power of ten that the last of them stands for. */
function decimal(number: string): { digits: string; exponent: number } {
  const [, whole = '', fraction = '', power = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? []
  const all = (whole + fraction).replace(/^0+/, '')
  // Not /0+$/, which is quadratic in zeros that other digits follow.
  let end = all.length
  while (all[end - 1] === '0') end--
  return { digits: all.slice(0, end), exponent: Number(power) - fraction.length + all.length - end }
}

/** Finds the first lossy number again by walking with a path; only ever runs once, for the error. */
function pathTo(text: string, lossy: LossyNumber): (string | number)[] {
  // Parents see their children replaced, innermost first, so the path grows outwards.
  const found = Symbol('found')
  let path: (string | number)[] | undefined
  const reviver: Reviver = function (key, value, context) {
    if (
      path === undefined &&
      typeof value === 'number' &&
      context.source === lossy.source &&
      key === lossy.key
    ) {
      path = [step(this, key)]
      return found
    }
    if (
      path !== undefined &&
      typeof value === 'object' &&
      value !== null &&
      Object.values(value).includes(found)
    ) {
      path.unshift(step(this, key))
      return found
    }
    return value
  }
  JSON.parse(text, reviver as (key: string, value: unknown) => unknown)
  // The whole text hangs in a holder of its own, under the empty key.
  return (path ?? []).slice(1)
}

function step(holder: unknown, key: string): string | number {
  return Array.isArray(holder) ? Number(key) : key
}

/** RFC 6901. */
export function pointer(path: readonly PropertyKey[]): string {
  return path.map((s) => `/${String(s).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

const encoder = new TextEncoder()

/** Bytes of a text in UTF-8, without encoding it when its length alone tells. */
export function utf8Length(text: string): number {
  return encoder.encode(text).length
}
