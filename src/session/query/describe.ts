// What can be asked by SQL, in JSON that a language model reads before it writes a query: relations, columns, and the dialect.

import type { Outcome } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { At } from '../rpc.ts'
import { resolveAt } from '../time.ts'
import type { World } from '../world.ts'
import { builtIn, type Relation, tableRelation, tablesAt, viewsAt } from './relations.ts'

export function describeSchema(world: World, at: At): Outcome<{ version: number; text: string }> {
  const resolved = resolveAt(world, at)
  if (!resolved.ok) return resolved
  const { version } = resolved
  const stand = { world, version }
  const tables = tablesAt(stand).map((table) => ({
    ...shown(tableRelation(stand, table)),
    key: table.key?.name ?? null,
  }))
  const schema = {
    version,
    dialect,
    relations: [...builtIn(stand).map(shown), ...tables],
    views: viewsAt(stand),
    limits: {
      rows: limits.sqlRows,
      bytes: limits.sqlBytes,
      steps: limits.sqlSteps,
      recursion: limits.sqlRecursion,
      params: limits.sqlParams,
    },
  }
  return { ok: true, version, text: JSON.stringify(schema) }
}

function shown({ name, text, columns }: Relation) {
  return {
    name,
    description: text,
    columns: columns.map((column) => ({
      name: column.name,
      type: column.type,
      ...(column.text === undefined ? {} : { description: column.text }),
    })),
  }
}

const dialect = {
  name: 'SQLite 3',
  statement: 'One SELECT (WITH … SELECT, VALUES). Nothing can be written.',
  parameters:
    'Written ?, bound in order from params. A list goes in as one JSON array: … IN (SELECT value FROM json_each(?)).',
  types: {
    'string, uuid': 'TEXT',
    timestamp:
      'TEXT, as 2026-12-01T08:00:00.000Z, always UTC: compare and sort as text; strftime(…, column) takes it',
    date: 'TEXT, as 2026-12-01',
    'int, float': 'INTEGER, REAL',
    bool: '1 or 0; TRUE and FALSE can be written. Selected as it is, it comes out as true or false',
    'json, array, vector, media':
      "JSON text: column ->> '$.name' gives a value, column -> '$.name' gives JSON, json_each(column) rows",
  },
  answers: 'JSON. A whole number beyond 2^53 comes as text, a BLOB in base64.',
  recursion: `A recursive query ends with LIMIT and a number of at most ${limits.sqlRecursion}.`,
  media:
    'An image, video, audio, document or file column is {blob, size, type?, name?}; blob equals files.blob of the same bytes.',
}
