// Tables, rows and views as their authors write them. docs/tables.md says what each type keeps.

import { z } from 'zod'
import type { Canonical } from './canonical.ts'
import { parseFilter } from './filter.ts'
import { limits } from './limits.ts'
import { tableNamePattern } from './names.ts'
import { condition, from } from './ops-parts.ts'
import { jsonValue, noProto, text, version } from './values.ts'

export const scalarTypes = ['string', 'int', 'float', 'bool', 'timestamp', 'date', 'uuid'] as const
export const mediaTypes = ['image', 'video', 'audio', 'document', 'file'] as const
export const documentTypes = ['json', 'array'] as const
export type ScalarType = (typeof scalarTypes)[number]
export type MediaType = (typeof mediaTypes)[number]
export type ColumnType = ScalarType | MediaType | (typeof documentTypes)[number] | `vector(${number})`

const vectorPattern = /^vector\(([1-9]\d{0,4})\)$/

/** How many numbers a vector column keeps; null for any other type. */
export function vectorLength(type: string): number | null {
  const match = vectorPattern.exec(type)
  return match ? Number(match[1]) : null
}

export function isScalar(type: string): type is ScalarType {
  return scalarTypes.some((one) => one === type)
}

export function isMedia(type: string): type is MediaType {
  return mediaTypes.some((one) => one === type)
}

/** What SQL and routes call their own; a table or view of such a name could not be told from it. */
const reserved = new Set([
  'log',
  'state',
  'memory',
  'files',
  'commits',
  'history',
  'lineage',
  'json_each',
  'json_tree',
])

export const tableName = z
  .string()
  .regex(
    tableNamePattern,
    'a name has letters, digits and _, begins with no digit, and at most 63 characters',
  )
  .refine((name) => !reserved.has(name.toLowerCase()), 'this name has a meaning of its own in SQL')
  .refine((name) => !/^(sqlite_|lares_|_cf_|pragma_|fts5)/i.test(name), 'this name is reserved')

export const columnName = z
  .string()
  .regex(
    tableNamePattern,
    'a name has letters, digits and _, begins with no digit, and at most 63 characters',
  )
  .refine((name) => name !== '__proto__', 'no column can be called __proto__')

export const columnType = z.custom<ColumnType>(
  (type) =>
    typeof type === 'string' &&
    (isScalar(type) || isMedia(type) || type === 'json' || type === 'array' || (vectorLength(type) ?? 0) > 0),
  { error: `a type is one of ${[...scalarTypes, ...documentTypes, 'vector(n)', ...mediaTypes].join(', ')}` },
)

/** How a column gets its value by itself. */
const computed = z.union([
  text(limits.expressionChars)
    .min(1)
    .transform((expression) => ({ expression })),
  z.strictObject({ expression: text(limits.expressionChars).min(1) }),
  z.strictObject({
    embed: z.union([columnName, z.array(columnName).min(1).max(16)]),
    provider: z.enum(['static', 'workers-ai', 'openai-compatible']).default('static'),
    model: text(255).min(1).optional(),
  }),
  z.strictObject({
    endpoint: text(2048).regex(/^https:\/\//, 'an HTTPS address'),
    inputs: z.array(columnName).min(1).max(64),
  }),
])
export type Computed = z.output<typeof computed>

const columnFields = z.strictObject({
  type: columnType,
  required: z.boolean().optional(),
  default: jsonValue(limits.metaBytes).optional(),
  unique: z.boolean().optional(),
  index: z.boolean().optional(),
  schema: jsonValue(limits.metaBytes)
    .refine((schema) => schema.startsWith('{'), 'must be an object')
    .optional()
    .meta({ description: 'A JSON Schema for the values of a json or array column' }),
  computed: computed.optional(),
})

/** A column: its type alone, or with what else is said of it. */
export const columnSpec = z.union([columnType.transform((type) => ({ type })), columnFields])
export type ColumnSpec = z.output<typeof columnFields>

const columns = noProto
  .pipe(z.record(columnName, columnSpec))
  .refine((record) => Object.keys(record).length <= limits.columns, `at most ${limits.columns} columns`)

export const tableDefinition = {
  columns: columns.refine((record) => Object.keys(record).length > 0, 'a table needs a column'),
  key: columnName.optional().meta({ description: 'The column whose value names the row' }),
}
export const tableBody = z.strictObject(tableDefinition)

export const tableChanges = {
  rename: noProto.pipe(z.record(columnName, columnName)).optional(),
  drop: z.array(columnName).max(limits.columns).optional(),
  add: columns.optional(),
  change: columns.optional().meta({ description: 'Columns as they shall be: a wider type, another rule' }),
}
export const tablePatch = z.strictObject(tableChanges)

export const tableDefine = z.strictObject({
  op: z.literal('table.define'),
  table: tableName,
  ...tableDefinition,
  if: condition,
  from,
})
export const tableAlter = z.strictObject({
  op: z.literal('table.alter'),
  table: tableName,
  ...tableChanges,
  if: condition,
  from,
})
export const tableDrop = z.strictObject({
  op: z.literal('table.drop'),
  table: tableName,
  if: condition,
  from,
})

/** Checked here, so that the pointer leads into the request; compiled by the object, which knows the columns. */
export const where = jsonValue(limits.filterBytes).superRefine((filter: Canonical, context) => {
  const parsed = parseFilter(JSON.parse(filter))
  if (!parsed.ok)
    context.addIssue({ code: 'custom', message: parsed.detail, path: steps(parsed.pointer ?? '') })
})

function steps(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

const object = (value: Canonical) => value.startsWith('{')

export const rowFields = {
  rows: jsonValue()
    .refine((value) => value.startsWith('[') && value !== '[]', 'an array of rows')
    .meta({ description: 'An array of objects, one a row: column name to value' }),
  on_conflict: z.enum(['error', 'replace', 'ignore']).default('error'),
}
export const rowUpdateFields = {
  where,
  set: jsonValue().refine(object, 'an object of columns'),
}

export const rowInsert = z.strictObject({
  op: z.literal('row.insert'),
  table: tableName,
  ...rowFields,
  from,
})

const rowKey = text(limits.keyBytes)
const whichRows = (op: { key?: unknown; where?: unknown }) =>
  (op.key === undefined) !== (op.where === undefined)
const ifNeedsKey = (op: { key?: unknown; if?: unknown }) => op.key !== undefined || op.if === undefined
const oneOfThem = 'exactly one of key and where is needed'
const needsKey = { message: 'if needs a key', path: ['if'] }

export const rowUpdate = z
  .strictObject({
    op: z.literal('row.update'),
    table: tableName,
    key: rowKey.optional(),
    where: where.optional(),
    set: rowUpdateFields.set,
    if: condition,
    from,
  })
  .refine(whichRows, oneOfThem)
  .refine(ifNeedsKey, needsKey)
export const rowDelete = z
  .strictObject({
    op: z.literal('row.delete'),
    table: tableName,
    key: rowKey.optional(),
    where: where.optional(),
    if: condition,
    from,
  })
  .refine(whichRows, oneOfThem)
  .refine(ifNeedsKey, needsKey)
/** Computes again what a function derives: every cell of a column, or those that failed. */
export const rowRecompute = z.strictObject({
  op: z.literal('row.recompute'),
  table: tableName,
  column: columnName,
  only: z.enum(['all', 'failed']).default('all'),
  from,
})

export const viewSql = text(limits.sqlChars).min(1)
export const viewDefine = z.strictObject({
  op: z.literal('view.define'),
  view: tableName,
  sql: viewSql,
  if: condition,
  from,
})
export const viewDrop = z.strictObject({ op: z.literal('view.drop'), view: tableName, if: condition, from })

export const rowsQuery = z.strictObject({
  select: z.array(columnName).min(1).max(limits.columns).optional(),
  where: where.optional(),
  order: z
    .union([text(64), z.array(text(64)).max(8)])
    .transform((order) => (typeof order === 'string' ? [order] : order))
    .optional()
    .meta({ description: 'Columns, each with a - before it for descending' }),
  limit: z.int().min(1).optional(),
  cursor: text(8192).optional(),
  at: z.union([z.int().min(0), text(300)]).optional(),
})

export const sqlQuery = z.strictObject({
  sql: viewSql,
  params: jsonValue(limits.sqlParamBytes)
    .refine((params) => params.startsWith('['), 'an array')
    .optional(),
  at: z.union([z.int().min(0), text(300)]).optional(),
  limit: z.int().min(1).optional(),
})

// Bodies of requests

export const rowsBody = z.strictObject(rowFields)
export const updateBody = z.strictObject(rowUpdateFields)
export const deleteBody = z.strictObject({ where })
export const recomputeBody = z.strictObject({
  column: columnName,
  only: z.enum(['all', 'failed']).default('all'),
})
export const rowPatch = jsonValue().refine(object, 'an object of columns')
export const viewBody = z.strictObject({ sql: viewSql })

// Answers

export const tableShown = z
  .object({
    table: z.string(),
    columns: z.record(z.string(), z.record(z.string(), z.unknown())),
    key: z.string().nullable(),
    since: version,
    rows: z.int().optional().meta({ description: 'How many rows; where one table is read' }),
  })
  .meta({ id: 'Table' })

export const rowShown = z
  .looseObject({
    $key: z.string().meta({ description: 'The row’s name: row:TABLE/$key is its reference' }),
    $since: version,
    $cells: z
      .record(
        z.string(),
        z.object({
          state: z.enum(['pending', 'stale', 'error']),
          error: z.object({ type: z.string(), message: z.string() }).optional(),
        }),
      )
      .optional()
      .meta({ description: 'Of computed cells, those that are not simply there' }),
  })
  .meta({ id: 'Row', description: 'A row: its columns, and what is said of it in members that begin with $' })

export const rowsWritten = z
  .object({
    version,
    at: z.string(),
    digest: z.string(),
    count: z.int(),
    keys: z.array(z.string()),
  })
  .meta({ id: 'RowsWritten' })

export const viewShown = z.object({ view: z.string(), sql: z.string(), since: version }).meta({ id: 'View' })

export const sqlShown = z
  .object({
    columns: z.array(z.string()),
    rows: z.array(z.array(z.unknown())),
    more: z.boolean(),
    version,
  })
  .meta({ id: 'SqlAnswer' })

export const lineageShown = z
  .object({
    of: z.string(),
    version,
    nodes: z.array(z.object({ ref: z.string(), version: version.nullable() })),
    edges: z.array(z.object({ from: z.string(), from_version: version.nullable(), to: z.string(), version })),
    more: z.boolean(),
  })
  .meta({ id: 'Lineage' })
