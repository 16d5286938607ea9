// What SQL can ask about: each relation as a query over the object's own tables, at a version. Relations stand in front of a
// statement as common table expressions, so their names are all it can reach. They name the object's tables with their
// schema, which a statement cannot: another relation may stand in front of the bare name.

import type { Canonical } from '../../protocol/canonical.ts'
import type { EntryKind } from '../../protocol/refs.ts'
import { seqAt } from '../read-log.ts'
import { entriesFrom } from '../store.ts'
import { readTable, type Table } from '../tables/definition.ts'
import { columnSql, rowsAt } from '../tables/relation.ts'
import { activeRanges } from '../time/active.ts'
import type { World } from '../world.ts'
import { quoteName } from './tokens.ts'

export interface RelationColumn {
  name: string
  type: string
  /** For readers of the schema. */
  text?: string
}

export interface Relation {
  name: string
  text: string
  columns: readonly RelationColumn[]
  sql: string
  /** Rows, at most, of each table that its query reads, by the alias it gives them. */
  sizes: () => Map<string, number>
}

/** Where SQL stands: a version, and whether it is the head. */
export interface Standpoint {
  world: World
  version: number
}

const stamp = (column: string) =>
  `(strftime('%Y-%m-%dT%H:%M:%S', ${column} / 1000, 'unixepoch') || printf('.%03dZ', ${column} % 1000))`

/** The relations that every world has. */
export function builtIn(at: Standpoint): Relation[] {
  return [log(at), ...entryRelations(at), commits(at), history(at), lineageRelation(at)]
}

function log({ world, version }: Standpoint): Relation {
  const newest = seqAt(world, version)
  const ranges = activeRanges(world.sql, newest)
  const active =
    ranges.length > 30
      ? `EXISTS (SELECT 1 FROM json_each('${JSON.stringify(ranges)}') AS r WHERE seq BETWEEN r.value ->> 'from' AND r.value ->> 'to')`
      : ranges.map(({ from, to }) => `seq BETWEEN ${from} AND ${to}`).join(' OR ') || '0'
  return {
    name: 'log',
    text: 'Events, in the order in which they were accepted. A revert takes none away: active tells whether it is part of the log that goes on.',
    columns: [
      { name: 'seq', type: 'int' },
      { name: 'version', type: 'int' },
      { name: 'at', type: 'timestamp' },
      { name: 'actor', type: 'string' },
      { name: 'type', type: 'string' },
      { name: 'lane', type: 'string' },
      { name: 'key', type: 'string' },
      { name: 'parent', type: 'int' },
      { name: 'payload', type: 'json', text: 'NULL when it is too large to be kept in the row' },
      { name: 'active', type: 'bool' },
    ],
    sql: `SELECT seq, version, ${stamp('at')} AS at, actor, type, lane, key, parent, json(value) AS payload, (${active}) AS active
      FROM main.events AS lares_log WHERE seq <= ${newest}`,
    sizes: () => new Map([['lares_log', newest]]),
  }
}

interface EntryShape {
  name: string
  kind: EntryKind
  text: string
  key: string
  columns: readonly (RelationColumn & { sql: string })[]
  /** What is not there any more although its entry is; `now` is an RFC 3339 time. */
  gone?: (now: string) => string
  count: (world: World) => number
}

const entryShapes: readonly EntryShape[] = [
  {
    name: 'state',
    kind: 'state',
    text: 'Structured state: a JSON value a key.',
    key: 'key',
    columns: [
      {
        name: 'value',
        type: 'json',
        sql: 'json(value)',
        text: 'NULL when it is too large to be kept in the row',
      },
    ],
    count: ({ head }) => head.counts.states,
  },
  {
    name: 'memory',
    kind: 'memory',
    text: 'Memories.',
    key: 'id',
    columns: [
      { name: 'text', type: 'string', sql: "value ->> '$.text'" },
      { name: 'tags', type: 'array', sql: "value -> '$.tags'" },
      { name: 'meta', type: 'json', sql: "value -> '$.meta'" },
      { name: 'pinned', type: 'bool', sql: "coalesce(value ->> '$.pinned', 0)" },
      { name: 'created_at', type: 'timestamp', sql: "value ->> '$.created_at'" },
      { name: 'expires_at', type: 'timestamp', sql: "value ->> '$.expires_at'" },
      { name: 'model', type: 'string', sql: "value ->> '$.vector.model'", text: 'Of the vector it carries' },
    ],
    gone: (now) => `(value ->> '$.pinned' IS NULL AND value ->> '$.expires_at' <= '${now}')`,
    count: ({ head }) => head.counts.memories,
  },
  {
    name: 'files',
    kind: 'file',
    text: 'Files, without their bytes.',
    key: 'path',
    columns: [
      {
        name: 'blob',
        type: 'string',
        sql: "value ->> '$.blob'",
        text: 'SHA-256 of the bytes; what media columns hold too',
      },
      { name: 'size', type: 'int', sql: "value ->> '$.size'" },
      { name: 'type', type: 'string', sql: "value ->> '$.type'" },
      { name: 'mode', type: 'string', sql: "value ->> '$.mode'" },
      { name: 'mtime', type: 'timestamp', sql: "value ->> '$.mtime'" },
      { name: 'meta', type: 'json', sql: "value -> '$.meta'" },
    ],
    count: ({ head }) => head.counts.files,
  },
]

function entryRelations({ world, version }: Standpoint): Relation[] {
  const isHead = version === world.head.version
  return entryShapes.map(({ name, kind, text, key, columns, gone, count }) => {
    const there = gone === undefined ? '' : ` AND ${gone(new Date().toISOString())} IS NOT TRUE`
    const alias = `lares_${name}`
    const cells = columns.map((column) => `${column.sql} AS ${column.name}`).join(', ')
    const select = (table: string, as: string) =>
      `SELECT key AS ${key}, ${cells}, since FROM main.${table} AS ${as} WHERE kind = '${kind}'${there}`
    return {
      name,
      text,
      columns: [{ name: key, type: 'string' }, ...columns, { name: 'since', type: 'int' }],
      sql: isHead
        ? select('entries', alias)
        : `${select('entries', alias)} AND since <= ${version}
           UNION ALL ${select('past', `${alias}_past`)} AND since <= ${version} AND until > ${version}`,
      sizes: () =>
        new Map([
          [alias, count(world)],
          ...(isHead ? [] : [[`${alias}_past`, pastOf(world, kind)] as const]),
        ]),
    }
  })
}

function commits({ world, version }: Standpoint): Relation {
  return {
    name: 'commits',
    text: 'One row a version: who changed the world, when and why.',
    columns: [
      { name: 'version', type: 'int' },
      { name: 'at', type: 'timestamp' },
      { name: 'actor', type: 'string' },
      { name: 'message', type: 'string' },
      { name: 'cause', type: 'json' },
      { name: 'digest', type: 'string' },
    ],
    sql: `SELECT version, ${stamp('at')} AS at, actor, message, cause, lower(hex(digest)) AS digest
      FROM main.commits AS lares_commits WHERE version <= ${version}`,
    sizes: () => new Map([['lares_commits', world.head.version]]),
  }
}

function history({ world, version }: Standpoint): Relation {
  const cells = "kind, key, kind || ':' || key AS ref, since"
  return {
    name: 'history',
    text: 'Every version of every entry: what it was, from since until it was changed or removed. Tables keep rows under column ids here.',
    columns: [
      { name: 'kind', type: 'string' },
      { name: 'key', type: 'string' },
      { name: 'ref', type: 'string' },
      { name: 'since', type: 'int' },
      { name: 'until', type: 'int', text: 'NULL for what is so still' },
      { name: 'value', type: 'json' },
      { name: 'digest', type: 'string' },
    ],
    sql: `SELECT ${cells}, NULL AS until, json(value) AS value, lower(hex(digest)) AS digest
        FROM main.entries AS lares_history WHERE since <= ${version}
      UNION ALL SELECT ${cells}, CASE WHEN until <= ${version} THEN until END, json(value), lower(hex(digest))
        FROM main.past AS lares_history_past WHERE since <= ${version}`,
    sizes: () =>
      new Map([
        ['lares_history', allEntries(world)],
        ['lares_history_past', pastOf(world, null)],
      ]),
  }
}

function lineageRelation({ world, version }: Standpoint): Relation {
  return {
    name: 'lineage',
    text: 'What was made from what: in that version, output was made from input.',
    columns: [
      { name: 'input', type: 'string', text: 'A reference, such as file:clip.mp4' },
      { name: 'input_version', type: 'int', text: 'NULL where none was named' },
      { name: 'output', type: 'string' },
      { name: 'version', type: 'int' },
    ],
    sql: `SELECT input, input_version, output, version FROM main.lineage AS lares_lineage WHERE version <= ${version}`,
    sizes: () => new Map([['lares_lineage', counted(world, 'lineage', '1')]]),
  }
}

/** Tables as a version saw them. */
export function tablesAt({ world, version }: Standpoint): Table[] {
  const tables: Table[] = []
  for (const entry of entriesFrom(world.sql, 'table', '', true, version, world.head.version)) {
    const table = entry.text === null ? null : readTable(entry.key, entry.text, entry.since)
    if (table !== null) tables.push(table)
  }
  return tables
}

export function viewsAt({ world, version }: Standpoint): { name: string; sql: string }[] {
  const views: { name: string; sql: string }[] = []
  for (const { key, text } of entriesFrom(world.sql, 'view', '', true, version, world.head.version)) {
    if (text !== null) views.push({ name: key, sql: viewSql(text) })
  }
  return views
}

function viewSql(text: Canonical): string {
  // What `view.define` wrote.
  const { sql }: { sql: string } = JSON.parse(text)
  return sql
}

export function tableRelation({ world, version }: Standpoint, table: Table): Relation {
  const isHead = version === world.head.version
  const alias = `lares_row_${table.name}`
  const columns = table.columns.map((column) => `${columnSql(column)} AS ${quoteName(column.name)}`)
  const has = (name: string) => table.columns.some((column) => column.name.toLowerCase() === name)
  // The row's own name and age, where no column is called so.
  const own = [
    ...(has('row_key') ? [] : [`substr(key, ${table.name.length + 2}) AS row_key`]),
    ...(has('row_since') ? [] : ['since AS row_since']),
  ]
  return {
    name: table.name,
    text: `The table ${table.name}.`,
    columns: [
      ...table.columns.map(({ name, type }) => ({ name, type: type as string })),
      ...(has('row_key')
        ? []
        : [{ name: 'row_key', type: 'string', text: 'The name of the row, as in row:TABLE/KEY' }]),
      ...(has('row_since') ? [] : [{ name: 'row_since', type: 'int', text: 'The version that wrote it' }]),
    ],
    sql: isHead
      ? rowsAt(table.name, null, alias).replace(
          'SELECT key, since, value',
          `SELECT ${[...columns, ...own].join(', ')}`,
        )
      : `SELECT ${[...columns, ...own].join(', ')} FROM (${rowsAt(table.name, version, alias)})`,
    sizes: () =>
      new Map([
        [alias, world.head.counts.rows],
        ...(isHead ? [] : [[`${alias}_past`, pastOf(world, 'row')] as const]),
      ]),
  }
}

function allEntries({ head }: World): number {
  const { states, files, memories, rows } = head.counts
  return states + files + memories + rows + 1000
}

const counts = new WeakMap<World, { version: number; found: Map<string, number> }>()

/** Counted once a version: what is counted only ever grows with versions. */
function counted(world: World, table: 'past' | 'lineage', condition: string): number {
  let known = counts.get(world)
  if (known?.version !== world.head.version) {
    known = { version: world.head.version, found: new Map() }
    counts.set(world, known)
  }
  const name = `${table} ${condition}`
  const before = known.found.get(name)
  if (before !== undefined) return before
  const { count } = world.sql
    .exec<{ count: number }>(`SELECT count(*) AS count FROM ${table} WHERE ${condition}`)
    .one()
  known.found.set(name, count)
  return count
}

function pastOf(world: World, kind: EntryKind | null): number {
  return counted(world, 'past', kind === null ? '1' : `kind = '${kind}'`)
}
