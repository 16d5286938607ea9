// The operations a commit is made of. One schema each: it validates, it types, it documents, and it turns every JSON value
// into canonical text on its way in, so that what crosses to the object is what is stored and hashed.

import { z } from 'zod'
import type { Canonical } from './canonical.ts'
import { limits } from './limits.ts'
import { memoryAdd, memoryConfigure, memoryForget, memoryUpdate } from './memory.ts'
import { pathProblem } from './names.ts'
import { condition, from } from './ops-parts.ts'
import {
  rowDelete,
  rowInsert,
  rowRecompute,
  rowUpdate,
  tableAlter,
  tableDefine,
  tableDrop,
  viewDefine,
  viewDrop,
} from './tables.ts'
import { filePath, jsonValue, seq, sha256, stateKey, text, timestamp, version } from './values.ts'

const keyed = { if: condition, from }

export const lane = z.enum(['main', 'inbox'])

/** An event's fields, as an operation and as the body of `POST …/log`. */
export const eventFields = {
  type: text(limits.eventType).min(1).default('message'),
  payload: jsonValue(),
  key: text(limits.eventKey).min(1).optional(),
  parent: seq.optional(),
  lane: lane.default('main'),
  from,
}

/**
 * Tool calls and results are tied together by the call's id. It is taken out here, while the payload is at hand, because the
 * object may get no more of a large payload than its name.
 */
export function withCall<T extends { type: string; payload: Canonical }>(
  event: T,
  context: z.RefinementCtx,
): T & { call?: string } {
  const member = event.type === 'tool_call' ? 'id' : event.type === 'tool_result' ? 'call_id' : null
  if (member === null) return event
  const payload: unknown = JSON.parse(event.payload)
  const call =
    typeof payload === 'object' && payload !== null && Object.hasOwn(payload, member)
      ? Reflect.get(payload, member)
      : undefined
  if (typeof call === 'string' && call !== '' && call.length <= limits.eventKey) return { ...event, call }
  context.addIssue({
    code: 'custom',
    message: `the payload of a ${event.type} needs a text "${member}" of at most ${limits.eventKey} characters`,
    path: ['payload', member],
  })
  return z.NEVER
}

export const logAppend = z.strictObject({ op: z.literal('log.append'), ...eventFields }).transform(withCall)

export const stateSet = z.strictObject({
  op: z.literal('state.set'),
  key: stateKey,
  value: jsonValue(),
  ...keyed,
})
export const statePatch = z.strictObject({
  op: z.literal('state.patch'),
  key: stateKey,
  patch: jsonValue().meta({ description: 'RFC 7396 merge patch' }),
  ...keyed,
})
export const stateAdd = z.strictObject({
  op: z.literal('state.add'),
  key: stateKey,
  by: z.number(),
  ...keyed,
})
export const stateDelete = z.strictObject({ op: z.literal('state.delete'), key: stateKey, ...keyed })

export const fileMode = z.enum(['100644', '100755', '120000'])
/** RFC 9110 media type, as it may stand in a header. */
export const mediaType = z
  .string()
  .max(255)
  .regex(
    /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;\s*[\w!#$&^.+-]+=([\w!#$&^.+-]+|"[ !#-[\]-~]*"))*$/,
    'not a media type',
  )

export const filePut = z.strictObject({
  op: z.literal('file.put'),
  path: filePath,
  blob: sha256,
  type: mediaType.optional(),
  mode: fileMode.default('100644'),
  mtime: timestamp.optional(),
  meta: jsonValue(limits.metaBytes).optional(),
  ...keyed,
})

/** A whole folder is named by its prefix, as text: `docs/` means every path that begins so. */
const prefix = text(limits.pathBytes).optional()
const oneOf = {
  check: (op: { path?: string | undefined; prefix?: string | undefined }) =>
    (op.path === undefined) !== (op.prefix === undefined),
  message: 'exactly one of path and prefix is needed',
}
const ifNeedsPath = {
  check: (op: { path?: string | undefined; if?: unknown }) => op.path !== undefined || op.if === undefined,
  message: { message: 'if needs a path', path: ['if'] },
}
const target = {
  check: (op: { path?: string | undefined; to: string }) =>
    op.path === undefined || pathProblem(op.to) === null,
  message: { message: 'not a file path', path: ['to'] },
}
const twoPlaces = { path: filePath.optional(), prefix, to: text(limits.pathBytes), ...keyed }

export const fileCopy = z
  .strictObject({ op: z.literal('file.copy'), ...twoPlaces })
  .refine(oneOf.check, oneOf.message)
  .refine(ifNeedsPath.check, ifNeedsPath.message)
  .refine(target.check, target.message)
export const fileMove = z
  .strictObject({ op: z.literal('file.move'), ...twoPlaces })
  .refine(oneOf.check, oneOf.message)
  .refine(ifNeedsPath.check, ifNeedsPath.message)
  .refine(target.check, target.message)
export const fileDelete = z
  .strictObject({ op: z.literal('file.delete'), path: filePath.optional(), prefix, ...keyed })
  .refine(oneOf.check, oneOf.message)
  .refine(ifNeedsPath.check, ifNeedsPath.message)

export const operation = z.discriminatedUnion('op', [
  logAppend,
  stateSet,
  statePatch,
  stateAdd,
  stateDelete,
  filePut,
  fileCopy,
  fileMove,
  fileDelete,
  tableDefine,
  tableAlter,
  tableDrop,
  rowInsert,
  rowUpdate,
  rowDelete,
  rowRecompute,
  viewDefine,
  viewDrop,
  memoryAdd,
  memoryUpdate,
  memoryForget,
  memoryConfigure,
])

/** An operation as its author writes it. */
export type OperationInput = z.input<typeof operation>
/** An operation as the object gets it: checked, defaults filled in, values as canonical text. */
export type Operation = z.output<typeof operation>
export type OperationName = Operation['op']
export type Condition = z.output<typeof condition>
export type Lane = z.output<typeof lane>

export const commitBody = z.strictObject({
  ops: z.array(operation).min(1, 'a commit has at least one operation').max(limits.ops),
  message: text(limits.messageChars).optional(),
  cause: jsonValue(limits.causeBytes)
    .refine((cause) => cause.startsWith('{'), 'must be an object')
    .meta({ type: 'object', description: 'What made it happen: run, tool call, model, event …' })
    .optional(),
  expect: version.optional(),
})
export type CommitBodyInput = z.input<typeof commitBody>
export type CommitBody = z.output<typeof commitBody>
