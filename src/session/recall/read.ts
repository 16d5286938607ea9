// Reading memories: one, and pages of those that a filter leaves, at the head or at any version.

import { hex } from '../../crypto.ts'
import { fail, type Outcome } from '../../protocol/errors.ts'
import { type FilterNode, parseFilter } from '../../protocol/filter.ts'
import { compileNode, type FilterSql, type Operand, type Resolve } from '../../protocol/filter-sql.ts'
import type { MemoryValue } from '../../protocol/memory.ts'
import { unpackVector } from '../../protocol/vectors.ts'
import { each } from '../each.ts'
import { noValue, noValueMark } from '../erased.ts'
import type { MemoryQuery, MemoryRead } from '../memory-rpc.ts'
import { PageBuilder } from '../pieces.ts'
import type { At, PageRead } from '../rpc.ts'
import { entryAt } from '../store.ts'
import { resolveAt, rfc3339 } from '../time.ts'
import type { World } from '../world.ts'
import { hasExpired, notExpired, shown, timeOf } from './memories.ts'

export function readMemory(world: World, id: string, at: At): Outcome<MemoryRead> {
  const resolved = resolveAt(world, at)
  if (!resolved.ok) return resolved
  const { version } = resolved
  const entry = entryAt(world.sql, 'memory', id, version)
  const none = () => fail('not_found', 'there is no such memory', { head: world.head.version })
  if (entry === null) return none()
  if (entry.text === null) return noValue(entry, `memory:${id}`)
  const value: MemoryValue = JSON.parse(entry.text)
  if (hasExpired(value, timeOf(world, version, at !== null))) return none()
  return {
    ok: true,
    version,
    digest: hex(entry.digest),
    memory: shown(id, entry.since, value),
    vector: value.vector === undefined ? null : [...unpackVector(value.vector.data)],
  }
}

export function listMemories(world: World, query: MemoryQuery): Outcome<PageRead> {
  const resolved = resolveAt(world, query.at)
  if (!resolved.ok) return resolved
  const { version } = resolved
  const wanted = wantedSql(query, listed, 5)
  if (!wanted.ok) return wanted
  const builder = new PageBuilder(query.limit)
  const after = typeof query.cursor === 'string' ? query.cursor : ''
  const now = rfc3339(timeOf(world, version, query.at !== null))
  const rows = world.sql.exec<{ key: string; since: number; salt: ArrayBuffer; text: string | null }>(
    `SELECT m.key, m.since, m.salt, json(jsonb_remove(m.value, '$.vector.data')) AS text FROM (${memoriesAt}) AS m
     WHERE m.key > ?2 AND ?5 IS NOT NULL AND (m.value IS NULL OR ${notExpired('m.value', '?3')}) AND ${wanted.sql}
     ORDER BY m.key LIMIT ?4`,
    version,
    after,
    now,
    query.limit + 1,
    wanted.param,
  )
  for (const { key, since, salt, text } of each(rows)) {
    const item =
      text === null
        ? `{"id":${JSON.stringify(key)},"since":${since}${noValueMark({ salt })}}`
        : JSON.stringify(shown(key, since, JSON.parse(text)))
    if (!builder.add(key, item)) break
  }
  return { ok: true, ...builder.page(version) }
}

const listed: Places = { key: 'm.key', since: 'm.since', document: 'm.value', text: 'm.value' }

/** Every memory of the version in the first parameter. Both halves are in the order of their keys, so a page reads no more than it shows. */
export const memoriesAt = `
  SELECT key, since, salt, CASE WHEN json_valid(value, 8) THEN value END AS value FROM entries WHERE kind = 'memory' AND since <= ?1
  UNION ALL
  SELECT key, since, salt, CASE WHEN json_valid(value, 8) THEN value END FROM past WHERE kind = 'memory' AND since <= ?1 AND until > ?1`

type Wanted = Pick<MemoryQuery, 'tags' | 'filter'> & { pinned?: boolean | null }

/** Where, in SQL, the parts of a memory are that a filter may look at. */
export interface Places {
  key: string
  since: string
  /** The memory as JSONB; its text need not be in it. */
  document: string
  /** One that has the text. */
  text: string
}

/**
 * Which memories a question means, as one condition.
 *
 * @param number of the parameter for what is compared with
 */
export function wantedSql(
  { tags, filter, pinned = null }: Wanted,
  places: Places,
  number: number,
): Outcome<FilterSql> {
  const of: FilterNode[] = []
  for (const part of [
    ...(filter === null ? [] : [filter]),
    ...tags.map((tag) => ({ tags: { $contains: tag } })),
    ...(pinned === null ? [] : [{ pinned }]),
  ]) {
    const parsed = parseFilter(part, '/filter')
    if (!parsed.ok) return parsed
    of.push(parsed.filter)
  }
  return compileNode({ is: 'and', of }, resolver(places), number, '/filter')
}

/** The names that a filter of memories may use; the members of `meta` and places in `tags` by JSON Pointer. */
function resolver({ key, since, document, text }: Places): Resolve {
  return (path): Operand | null => {
    const [name = '', ...rest] = path
    if (name === 'meta' || name === 'tags') return { is: 'json', document, path }
    if (rest.length > 0) return null
    switch (name) {
      case 'id':
        return { is: 'scalar', sql: key, holds: 'text' }
      case 'since':
        return { is: 'scalar', sql: since, holds: 'number' }
      case 'text':
        return { is: 'json', document: text, path }
      case 'pinned':
        return { is: 'scalar', sql: `coalesce(${document} ->> '$.pinned', 0)`, holds: 'bool' }
      case 'created_at':
      case 'expires_at':
        return { is: 'scalar', sql: `(${document} ->> '$.${name}')`, holds: 'text', adapt: timeText }
      default:
        return null
    }
  }
}

/** A time as memories hold it, whatever offset it was written in; undefined for what is no time. */
function timeText(value: unknown): string | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}
