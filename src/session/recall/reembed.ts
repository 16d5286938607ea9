// Giving memories the vectors they lack: after another model was chosen, or where the provider did not answer. The edge embeds;
// here is what it asks for, and what it brings back, as one commit that changes no text.

import { hex } from '../../crypto.ts'
import { canonical } from '../../protocol/canonical.ts'
import type { Outcome } from '../../protocol/errors.ts'
import type { MemoryState, MemoryValue } from '../../protocol/memory.ts'
import { transact } from '../commit.ts'
import type { Embedding, Unembedded } from '../memory-rpc.ts'
import type { Caller } from '../rpc.ts'
import { currentEntry } from '../store.ts'
import type { World } from '../world.ts'
import { liveMemories } from './count.ts'
import { spaceOf, stillFits } from './settings.ts'

export function memoryState(world: World): MemoryState {
  const { provider, model, dims } = spaceOf(world)
  const memories = liveMemories(world)
  const { n } = world.sql
    .exec<{ n: number }>(
      'SELECT count(*) AS n FROM memory_docs WHERE model = ? AND (expires IS NULL OR expires > ?)',
      model,
      Date.now(),
    )
    .one()
  return { provider, model, dims, memories, current: n, missing: memories - n }
}

/** Memories without a vector of the present model, in the order of their numbers. */
export function unembedded(world: World, limit: number): Unembedded[] {
  const { model, provider } = spaceOf(world)
  // The built-in vectors follow from the text, and only a caller can make a caller's.
  if (provider === 'static' || provider === 'caller') return []
  return world.sql
    .exec<{ id: string; text: string; digest: ArrayBuffer }>(
      `SELECT e.key AS id, e.value ->> '$.text' AS text, e.digest FROM memory_docs AS d
       JOIN entries AS e ON e.kind = 'memory' AND e.key = d.key
       WHERE d.model IS NOT ? AND (d.expires IS NULL OR d.expires > ?) LIMIT ?`,
      model,
      Date.now(),
      limit,
    )
    .toArray()
    .map(({ id, text, digest }) => ({ id, text, digest: hex(digest) }))
}

/**
 * Gives memories their vectors, where their text is still the one that was embedded.
 *
 * @param own true for the session's own work, which passes a lease
 */
export function embedMemories(
  world: World,
  caller: Caller,
  vectors: readonly { id: string; digest: string; embedding: Embedding }[],
  own = false,
): Outcome<{ version: number; embedded: number }> {
  const fitting = vectors.filter(({ id, digest, embedding }) => {
    const entry = currentEntry(world.sql, 'memory', id)
    // Changed or forgotten while it was being embedded: what was embedded is no longer what it says.
    return entry?.text != null && hex(entry.digest) === digest && stillFits(world, embedding) !== null
  })
  if (fitting.length === 0) return { ok: true, version: world.head.version, embedded: 0 }
  return transact(
    world,
    caller,
    { message: 're-embedded', cause: canonical({ embed: spaceOf(world).model }) },
    {
      outsider: own,
      apply: (tx) => {
        tx.begin('memory.embed', undefined)
        for (const { id, embedding } of fitting) {
          const entry = currentEntry(world.sql, 'memory', id)
          const value: MemoryValue = JSON.parse(entry?.text ?? 'null')
          tx.put('memory', id, canonical({ ...value, vector: embedding }))
        }
        return { embedded: fitting.length }
      },
    },
  )
}
