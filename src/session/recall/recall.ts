// Recall: which memories answer a question, by their words, by what they are near to, or by both.

import { fail, type Outcome } from '../../protocol/errors.ts'
import type { MemoryValue } from '../../protocol/memory.ts'
import type { PackedVector } from '../../protocol/vectors.ts'
import type { RecallQuery, RecallRead, Space } from '../memory-rpc.ts'
import { entryAt } from '../store.ts'
import { resolveAt } from '../time.ts'
import type { World } from '../world.ts'
import type { VectorCache } from './cache.ts'
import { alone, type Fused, fuse } from './fuse.ts'
import { searchPast } from './past.ts'
import { dot, normalised } from './quantise.ts'
import { type Places, wantedSql } from './read.ts'
import { misfit, spaceOf, staticSpace } from './settings.ts'
import { type Condition, type Hit, searchText } from './text.ts'
import { exactVector, floatsOf, partsOf } from './upkeep.ts'

/** What each half finds, before the two are made one. */
export interface Halves {
  text: Hit[]
  vector: Hit[]
}

export async function recall(
  world: World,
  vectors: VectorCache,
  query: RecallQuery,
): Promise<Outcome<RecallRead>> {
  const resolved = resolveAt(world, query.at)
  if (!resolved.ok) return resolved
  const { version } = resolved
  const asked = askedVector(world, query)
  if (!asked.ok) return asked
  const ask: Ask = {
    query,
    words: query.mode === 'vector' ? null : query.query,
    near: asked.near,
    most: query.mode === 'hybrid' ? Math.max(50, 4 * query.k) : query.k,
  }
  const found =
    version === world.head.version ? searchHead(world, vectors, ask) : await searchPast(world, version, ask)
  if (!found.ok) return found
  return {
    ok: true,
    version,
    items: show(world, version, ordered(query.mode, found).slice(0, query.k)),
    withoutVector: asked.without,
  }
}

export interface Ask {
  query: RecallQuery
  /** Null for a recall that does not ask by words. */
  words: string | null
  near: { space: Space; unit: Float32Array } | null
  /** Hits of each half. */
  most: number
}

type AskedVector = { near: Ask['near']; without: string | null }

function askedVector(world: World, { mode, vector }: RecallQuery): Outcome<AskedVector> {
  if (mode === 'text') return { ok: true, near: null, without: null }
  const space = spaceOf(world)
  if (vector === null) return { ok: true, near: null, without: noVector(space) }
  // A session that no caller has given a vector yet has nothing that a caller's could be near to.
  if (vector.model === null && space === staticSpace)
    return { ok: true, near: null, without: 'no memory of this session has a vector that a caller gave' }
  if (vector.model !== null && vector.model !== space.model)
    return { ok: true, near: null, without: 'the model was changed while the question was being embedded' }
  const wrong = misfit(space, vector)
  if (wrong !== null) return fail('invalid', wrong, { pointer: '/vector' })
  const unit = normalised(floatsOf(vector.data))
  if (unit === null) return fail('invalid', 'a vector must not be all zeros', { pointer: '/vector' })
  return { ok: true, near: { space, unit }, without: null }
}

function noVector({ provider, model }: Space): string {
  return provider === 'caller'
    ? `only a caller can make vectors of the model ${JSON.stringify(model)}, and gave none`
    : `the query was not embedded by ${JSON.stringify(model)}`
}

function ordered(mode: RecallQuery['mode'], { text, vector }: Halves): Fused[] {
  return mode === 'hybrid' ? fuse(text, vector) : alone(mode, mode === 'text' ? text : vector)
}

function searchHead(world: World, vectors: VectorCache, ask: Ask): Outcome<Halves> {
  const narrowed = conditionOf(world, ask.query)
  if (!narrowed.ok) return narrowed
  const { condition } = narrowed
  return {
    ok: true,
    text: ask.words === null ? [] : searchText(world, ask.words, ask.most, condition),
    vector: ask.near === null ? [] : searchVector(world, vectors, ask.near, ask.most, condition),
  }
}

const indexed: Places = {
  key: 'd.key',
  since: "(SELECT since FROM entries WHERE kind = 'memory' AND key = d.key)",
  document: 'd.facts',
  text: "(SELECT value FROM entries WHERE kind = 'memory' AND key = d.key)",
}

/** What the filter leaves of the index; null when that is all of it. */
function conditionOf(
  { sql }: World,
  { filter, tags, at }: RecallQuery,
): Outcome<{ condition: Condition | null }> {
  const wanted = wantedSql({ filter, tags }, indexed, 1)
  if (!wanted.ok) return wanted
  const parts = filter === null && tags.length === 0 ? [] : [wanted.sql]
  // The head as a version of its own is as it was when it was written.
  const now = Date.now()
  const some =
    at === null &&
    sql.exec('SELECT 1 FROM memory_docs WHERE expires IS NOT NULL AND expires <= ? LIMIT 1', now).toArray()
      .length > 0
  if (some) parts.push(`(d.expires IS NULL OR d.expires > ${now})`)
  if (parts.length === 0) return { ok: true, condition: null }
  return { ok: true, condition: { sql: ['d.key IS NOT NULL', ...parts].join(' AND '), param: wanted.param } }
}

function searchVector(
  world: World,
  vectors: VectorCache,
  { space, unit }: NonNullable<Ask['near']>,
  most: number,
  condition: Condition | null,
): Hit[] {
  const index = vectors.indexOf(space)
  const among = condition === null ? null : docsWhere(world.sql, condition)
  const near = index.nearest(unit, most, among).slice(0, mostExact)
  const rows = world.sql.exec<{
    key: string
    text: string
    model: string | null
    data: PackedVector | null
  }>(
    `SELECT d.key, ${space.provider === 'static' ? "e.value ->> '$.text'" : "''"} AS text,
       e.value ->> '$.vector.model' AS model, e.value ->> '$.vector.data' AS data
     FROM json_each(?) AS j JOIN memory_docs AS d ON d.doc = j.value
     JOIN entries AS e ON e.kind = 'memory' AND e.key = d.key`,
    JSON.stringify(near.map(({ doc }) => doc)),
  )
  const hits: Hit[] = []
  for (const row of rows) {
    const exact = exactVector(space, partsOf(row))
    if (exact !== null) hits.push({ key: row.key, score: dot(unit, exact) })
  }
  return best(hits, most)
}

/** How many are looked at exactly; only a crowd of near-equals has more, and of those any will do. */
const mostExact = 1000

function docsWhere(sql: SqlStorage, condition: Condition): Float64Array {
  const rows = sql
    .exec<{ doc: number }>(
      `SELECT d.doc FROM memory_docs AS d WHERE ?1 IS NOT NULL AND d.model IS NOT NULL AND ${condition.sql}`,
      condition.param,
    )
    .toArray()
  return Float64Array.from(rows, ({ doc }) => doc)
}

export function best(hits: Hit[], most: number): Hit[] {
  return hits.sort((one, other) => other.score - one.score || (one.key < other.key ? -1 : 1)).slice(0, most)
}

function show(world: World, version: number, found: Fused[]): RecallRead['items'] {
  return found.flatMap(({ key, score, why }) => {
    const entry = entryAt(world.sql, 'memory', key, version)
    if (entry?.text == null) return []
    const { text, tags, meta }: MemoryValue = JSON.parse(entry.text)
    return [{ id: key, text, score, why, tags, meta, since: entry.since }]
  })
}
