// Keeping recall's index true to the entries: inside every commit for what it changed, and in slices for what came by other ways
// (a fork's rows, an import) or must be seen anew (another model).

import { embedStatic } from '../../embed/static.ts'
import { type MemoryValue, memorySettingsKey } from '../../protocol/memory.ts'
import type { PackedVector } from '../../protocol/vectors.ts'
import type { Space } from '../memory-rpc.ts'
import { currentEntry, type Entry } from '../store.ts'
import { erasedOf, eraseOperation } from '../time/erased-ref.ts'
import type { Transaction } from '../transaction.ts'
import type { World } from '../world.ts'
import { docFor, docOf, dropDoc } from './docs.ts'
import { expiryOf } from './memories.ts'
import { normalised, quantised } from './quantise.ts'
import { spaceOf, spaceWith } from './settings.ts'
import { wordsOf } from './words.ts'

const prefix = 'memory:'

/** Indexes what a commit changed, whatever made the change. */
export function watchMemory({ world, changes }: Transaction): void {
  let space: Space | null = null
  for (const [ref, { op }] of changes) {
    if (!ref.startsWith(prefix)) continue
    space ??= spaceOf(world)
    const key = op === eraseOperation ? erasedOf(ref).key : ref.slice(prefix.length)
    space = indexMemory(world, space, key)
  }
  if (changes.has(`state:${memorySettingsKey}`)) {
    markStale(world)
    markDue(world, spaceOf(world))
  }
}

/** When to look for memories that a provider is to embed, epoch milliseconds. */
export const dueMark = 'embeddings due'

function markDue(world: World, { provider }: Space): void {
  if (provider !== 'workers-ai' && provider !== 'openai-compatible') return
  if (world.meta(dueMark) === null) world.setMeta(dueMark, String(Date.now()))
}

const staleMark = 'memory index'

/** Says that entries of memory came without the index hearing of them. In the same transaction as what brought them. */
export function markStale(world: World): void {
  world.setMeta(staleMark, '')
}

export function isStale(world: World): boolean {
  return world.meta(staleMark) !== null
}

const memoriesPerSlice = 100

/** A slice of making the index anew; answers whether there is more to do. Killed anywhere, it goes on where it was. */
export function rebuildSlice(world: World): boolean {
  const after = world.meta(staleMark)
  if (after === null) return false
  return world.storage.transactionSync(() => {
    let space = spaceOf(world)
    const keys = world.sql
      .exec<{ key: string }>(
        "SELECT key FROM entries WHERE kind = 'memory' AND key > ? ORDER BY key LIMIT ?",
        after,
        memoriesPerSlice,
      )
      .toArray()
    for (const { key } of keys) space = indexMemory(world, space, key)
    const last = keys.at(-1)
    if (last !== undefined) {
      world.setMeta(staleMark, last.key)
      return true
    }
    const orphans = world.sql.exec<{ doc: number }>(
      `SELECT doc FROM memory_docs AS d WHERE key IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM entries WHERE kind = 'memory' AND key = d.key)`,
    )
    for (const { doc } of orphans.toArray()) removeDoc(world.sql, doc)
    world.dropMeta(staleMark)
    return false
  })
}

/** Answers the space, which a memory may be the first to tell. */
function indexMemory(world: World, known: Space, key: string): Space {
  const { sql } = world
  const entry = currentEntry(sql, 'memory', key)
  if (entry?.text == null) {
    const doc = docOf(sql, key)
    if (doc !== null) removeDoc(sql, doc)
    return known
  }
  const value: MemoryValue = JSON.parse(entry.text)
  const space = spaceWith(world, known, value.vector)
  const vector = vectorOf(space, value)
  if (vector === null) markDue(world, space)
  write(sql, space, docFor(sql, key), entry, value, vector)
  return space
}

type Row = { digest: ArrayBuffer | null; model: string | null }

function write(
  sql: SqlStorage,
  space: Space,
  doc: number,
  { key, digest }: Entry,
  value: MemoryValue,
  vector: Uint8Array | null,
): void {
  const known = sql.exec<Row>('SELECT digest, model FROM memory_docs WHERE doc = ?', doc).toArray()[0]
  const mark = digest.slice(0, 16)
  const unchanged =
    known?.digest != null && Buffer.compare(Buffer.from(known.digest), Buffer.from(mark)) === 0
  if (unchanged && known.model === space.model) return
  const { text: words, vector: _, ...facts } = value
  sql.exec(
    `INSERT INTO memory_docs (doc, key, digest, facts, model, vector, expires) VALUES (?, ?, ?, jsonb(?), ?, ?, ?)
     ON CONFLICT (doc) DO UPDATE SET key = excluded.key, digest = excluded.digest, facts = excluded.facts,
       model = excluded.model, vector = excluded.vector, expires = excluded.expires`,
    doc,
    key,
    mark,
    JSON.stringify(facts),
    vector === null ? null : space.model,
    vector,
    expiryOf(value),
  )
  if (unchanged) return
  if (known?.digest != null) sql.exec('DELETE FROM memory_words WHERE rowid = ?', doc)
  sql.exec('INSERT INTO memory_words (rowid, words) VALUES (?, ?)', doc, wordsOf(words).join(' '))
}

function removeDoc(sql: SqlStorage, doc: number): void {
  sql.exec('DELETE FROM memory_words WHERE rowid = ?', doc)
  dropDoc(sql, doc)
}

function vectorOf(space: Space, value: MemoryValue): Uint8Array | null {
  const exact = exactVector(space, value)
  return exact === null ? null : quantised(exact)
}

/** The memory's vector in a space, of length 1; null when it has none there. */
export function exactVector(
  space: Space,
  { text, vector }: Pick<MemoryValue, 'text' | 'vector'>,
): Float32Array | null {
  if (space.provider === 'static') return embedStatic(text)
  if (vector?.model !== space.model) return null
  const floats = floatsOf(vector.data)
  return floats.length === space.dims ? normalised(floats) : null
}

/** A memory's text and vector, as rows have them. */
export function partsOf(row: {
  text: string
  model: string | null
  data: PackedVector | null
}): Pick<MemoryValue, 'text' | 'vector'> {
  const { text, model, data } = row
  return model === null || data === null ? { text } : { text, vector: { model, data } }
}

/** The same as `unpackVector`, by the platform's own decoder. */
export function floatsOf(packed: string): Float32Array {
  const bytes = Buffer.from(packed, 'base64')
  // A copy: the decoder's bytes may begin at an odd place of a shared buffer.
  return new Float32Array(new Uint8Array(bytes).buffer, 0, bytes.length >> 2)
}
