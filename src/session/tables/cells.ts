// What each column type takes, and the one form in which it keeps it.

import { Validator } from '@cfworker/json-schema'
import { canonical, type Json } from '../../protocol/canonical.ts'
import { sha256Pattern } from '../../protocol/names.ts'
import { isMedia, type MediaType, vectorLength } from '../../protocol/tables.ts'
import { heldBlob } from '../blobs.ts'
import type { Column } from './definition.ts'

/** A value as it is kept, or why the column does not take it. */
export type Cell = { value: Json } | { problem: string }

/** Checks a value that is not null, and brings it into the form in which the column keeps it. */
export function cellOf(sql: SqlStorage, column: Pick<Column, 'type' | 'schema'>, value: Json): Cell {
  const { type } = column
  switch (type) {
    case 'string':
      return typeof value === 'string' ? { value } : no('a text')
    case 'int':
      return whole(value)
    case 'float':
      return typeof value === 'number' ? { value } : no('a number')
    case 'bool':
      return typeof value === 'boolean' ? { value } : no('true or false')
    case 'timestamp':
      return instant(value)
    case 'date':
      return day(value)
    case 'uuid':
      return typeof value === 'string' && uuid.test(value) ? { value: value.toLowerCase() } : no('a UUID')
    case 'json':
      return fitting(column, value)
    case 'array':
      return Array.isArray(value) ? fitting(column, value) : no('an array')
  }
  if (isMedia(type)) return medium(sql, type, value)
  return vector(value, vectorLength(type) ?? 0)
}

/** How a filter's value reads in a column: as it would be kept, or undefined where it never could be. */
export function adaptTo(column: Pick<Column, 'type'>, value: Json): Json | undefined {
  switch (column.type) {
    case 'timestamp':
    case 'date':
    case 'uuid': {
      const cell =
        column.type === 'timestamp' ? instant(value) : column.type === 'date' ? day(value) : uuidCell(value)
      return 'value' in cell ? cell.value : undefined
    }
    default:
      return value
  }
}

function uuidCell(value: Json): Cell {
  return typeof value === 'string' ? { value: value.toLowerCase() } : no('a UUID')
}

function no(wanted: string): Cell {
  return { problem: `${wanted} is needed here` }
}

const uuid = /^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/

/** Past 2^53 a JSON number is not exact in every reader, so such a number is refused and never rounded. */
function whole(value: Json): Cell {
  if (typeof value !== 'number' || !Number.isInteger(value)) return no('a whole number')
  if (!Number.isSafeInteger(value))
    return { problem: 'a whole number beyond 2^53 - 1 is not exact in JSON; keep it in a string column' }
  return { value }
}

const rfc3339 = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/

/** UTC with milliseconds: equal instants are equal texts, and texts sort as instants do. */
function instant(value: Json): Cell {
  if (typeof value !== 'string' || !rfc3339.test(value)) return no('an RFC 3339 time')
  const dayPart = day(value.slice(0, 10))
  const time = Date.parse(value.toUpperCase().replace(' ', 'T'))
  if ('problem' in dayPart || Number.isNaN(time)) return no('an RFC 3339 time')
  const text = new Date(time).toISOString()
  // Five-digit years would sort before four-digit ones.
  return text.length === 24 ? { value: text } : no('a time of the years 0000 to 9999')
}

function day(value: Json): Cell {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(value)) return no('a date, YYYY-MM-DD')
  const time = new Date(`${value}T00:00:00.000Z`)
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(value)
    ? { value }
    : { problem: 'there is no such day' }
}

function vector(value: Json, length: number): Cell {
  if (!Array.isArray(value) || value.length !== length) return no(`an array of ${length} numbers`)
  for (const one of value) if (typeof one !== 'number') return no(`an array of ${length} numbers`)
  return { value }
}

const families: Record<MediaType, string> = {
  image: 'image/',
  video: 'video/',
  audio: 'audio/',
  document: '',
  file: '',
}

/** A blob that the session holds: its hash alone, or with a type and a name. */
function medium(sql: SqlStorage, type: MediaType, value: Json): Cell {
  const asked = typeof value === 'string' ? { blob: value } : value
  if (typeof asked !== 'object' || asked === null || Array.isArray(asked)) return no('a blob')
  const { blob, type: kind, name, meta, size: _, ...others } = asked
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) return { problem: `there is no member ${JSON.stringify(unknown)} here` }
  if (typeof blob !== 'string' || !sha256Pattern.test(blob))
    return no('a blob, by its SHA-256 in lowercase hex,')
  if (name !== undefined && typeof name !== 'string') return { problem: 'name is a text' }
  if (kind !== undefined && (typeof kind !== 'string' || !/^[\w.+-]+\/[\w.+-]+/.test(kind)))
    return { problem: 'type is a media type' }
  // A hash is not a password: only bytes that came through this session, or that it holds already, can be named.
  const held = heldBlob(sql, blob)
  if (held === null) return { problem: 'this session does not hold this blob' }
  const known = kind ?? held.media.type
  if (typeof known === 'string' && !known.startsWith(families[type]))
    return { problem: `${known} is no ${type}` }
  return {
    value: {
      blob,
      size: held.size,
      ...(known === undefined ? {} : { type: known }),
      ...(name === undefined ? {} : { name }),
      ...(meta === undefined ? {} : { meta }),
    },
  }
}

function fitting(column: Pick<Column, 'schema'>, value: Json): Cell {
  if (column.schema === undefined) return { value }
  const { valid, errors } = validatorOf(column.schema).validate(value)
  if (valid) return { value }
  const last = errors.at(-1)
  const place = last?.instanceLocation.replace(/^#/, '') ?? ''
  return {
    problem: `not as the column's schema says${place === '' ? '' : ` at ${place}`}: ${last?.error ?? ''}`,
  }
}

const validators = new WeakMap<object, Validator>()

function validatorOf(schema: object): Validator {
  const known = validators.get(schema)
  if (known) return known
  const made = new Validator(schema, '2020-12', true)
  validators.set(schema, made)
  return made
}

/** Why a JSON Schema cannot be a column's, or null. */
export function schemaProblem(schema: object): string | null {
  const text = canonical(schema)
  // A pattern of a stranger's can run for ever, and the session with it.
  if (/"(pattern|patternProperties)":/.test(text)) return 'patterns are not taken in a schema'
  if (/"\$ref":"(?!#)/.test(text)) return 'a schema may refer to itself only'
  try {
    new Validator(schema, '2020-12', true).validate(null)
    return null
  } catch (error) {
    return error instanceof Error ? error.message.slice(0, 200) : 'not a JSON Schema'
  }
}
