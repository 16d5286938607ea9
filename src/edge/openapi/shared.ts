// What many routes have in common, once each: path parameters, query parameters, request headers, response headers.

import { limits } from '../../protocol/limits.ts'
import { fleetPattern, sessionIdPattern, sha256Pattern, tableNamePattern } from '../../protocol/names.ts'
import type { Parameter } from './route.ts'

const text = { type: 'string' }
const whole = { type: 'integer', minimum: 0 }

export const pathParameters: Readonly<Record<string, { text: string; schema: object }>> = {
  session: { text: 'The session’s id', schema: { ...text, pattern: sessionIdPattern.source } },
  fleet: { text: 'The fleet’s name', schema: { ...text, pattern: fleetPattern.source } },
  id: { text: 'The id it was made with', schema: text },
  version: { text: 'A version', schema: whole },
  seq: { text: 'The event’s place in the log', schema: { type: 'integer', minimum: 1 } },
  sha256: {
    text: 'SHA-256 of the bytes, lowercase hex',
    schema: { ...text, pattern: sha256Pattern.source },
  },
  name: { text: 'The snapshot’s name', schema: text },
  upload: { text: 'The id it was begun with', schema: text },
  part: { text: 'Which part, from 1', schema: { type: 'integer', minimum: 1, maximum: limits.parts } },
  key: {
    text: `A state key of at most ${limits.keyBytes} bytes. Percent-encoded once; \`/\` may stand as itself.`,
    schema: text,
  },
  table: { text: 'The table’s name', schema: { ...text, pattern: tableNamePattern.source } },
  view: { text: 'The view’s name', schema: { ...text, pattern: tableNamePattern.source } },
  row: { text: 'The row’s name. Percent-encoded once; `/` may stand as itself.', schema: text },
  memory: { text: 'The memory’s id. Percent-encoded once; `/` may stand as itself.', schema: text },
  path: {
    text: `A file path of at most ${limits.pathBytes} bytes. Percent-encoded once; \`/\` stands as itself.`,
    schema: { ...text, minLength: 1 },
  },
}

export const sharedParameters = {
  at: query(
    'at',
    'The world at a version, at an RFC 3339 time, or at `snap:NAME`; without it, the head.',
    text,
  ),
  limit: query('limit', `Items a page; more than ${limits.page} is taken as ${limits.page}.`, {
    type: 'integer',
    minimum: 1,
    default: limits.pageDefault,
  }),
  cursor: query('cursor', 'Where to go on: `next` of the page before, in the same list.', text),
  prefix: query('prefix', 'Only names that begin so, as text.', text),
  order: query('order', 'The direction.', { ...text, enum: ['asc', 'desc'], default: 'asc' }),
  idempotency: header(
    'Idempotency-Key',
    'Makes the request safe to repeat: the same key and body get the first answer again.',
    { ...text, minLength: 1, maxLength: limits.idempotencyKey },
  ),
  lease: header('Lares-Lease', 'The lease’s token; needed while the session is leased.', text),
  ifMatch: header('If-Match', 'Write only if the value still has this ETag.', text),
  ifAbsent: header('If-None-Match', '`*`: write only if there is nothing yet.', { ...text, const: '*' }),
  ifNoneMatch: header('If-None-Match', 'ETags the client has; 304 when the value has one of them.', text),
  range: header('Range', 'One byte range, such as `bytes=0-99`.', text),
  ifRange: header('If-Range', 'Take the range only if the file still has this ETag.', text),
  contentDigest: header('Content-Digest', '`sha-256=:BASE64:`; the bytes are checked against it.', text),
} as const satisfies Record<string, Parameter>
export type SharedParameter = keyof typeof sharedParameters

/** Named by every route that takes a credential. */
export const fleetHeader: Parameter = header(
  'Lares-Fleet',
  'With the root key: the fleet to act in, `default` otherwise. Any other credential names its fleet itself.',
  { ...text, pattern: fleetPattern.source },
)

export const sharedHeaders = {
  'Lares-Request-Id': { text: 'Names this request in the logs', schema: text },
  'Lares-Version': { text: 'The version that the answer speaks of', schema: whole },
  'Lares-Since': { text: 'The version that wrote the value', schema: whole },
  ETag: { text: 'Strong; the value’s digest', schema: text },
  'Cache-Control': { text: 'Immutable for a read at a fixed version', schema: text },
  Location: { text: 'Where it is', schema: text },
  'Content-Range': { text: 'Which bytes these are', schema: text },
  'Lares-Blob': { text: 'SHA-256 of the whole file, hex', schema: text },
  'Lares-Mode': { text: 'The file’s mode', schema: text },
  'Lares-Mtime': { text: 'RFC 3339, if one was given', schema: text },
  'Retry-After': { text: 'Seconds to wait', schema: whole },
} as const satisfies Record<string, { text: string; schema: object }>
export type SharedHeader = keyof typeof sharedHeaders

export function query(name: string, words: string, schema: object): Parameter {
  return { in: 'query', name, text: words, schema }
}

export function header(name: string, words: string, schema: object): Parameter {
  return { in: 'header', name, text: words, schema }
}
