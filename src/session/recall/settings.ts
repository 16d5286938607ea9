// Which vectors a session's memory has: of which model, of how many numbers. Told by its settings; without them, by the first
// vector that a caller gives; without one, the built-in word vectors.

import { staticModel } from '../../embed/static.ts'
import { type MemorySettings, memorySettings, memorySettingsKey } from '../../protocol/memory.ts'
import { dimsOf, type PackedVector } from '../../protocol/vectors.ts'
import type { Embedding, Space } from '../memory-rpc.ts'
import { currentEntry } from '../store.ts'
import { Refusal, type Transaction } from '../transaction.ts'
import type { World } from '../world.ts'

const callersModel = 'caller'
const callersDims = 'memory dims'

export const staticSpace: Space = {
  provider: 'static',
  model: staticModel.name,
  dims: staticModel.dims,
}

export function spaceOf(world: World): Space {
  const settings = settingsOf(world)
  if (settings !== null) return spaceFrom(settings)
  const dims = world.meta(callersDims)
  return dims === null ? staticSpace : { provider: 'caller', model: callersModel, dims: Number(dims) }
}

/** What was configured; null where nothing was, or where the state holds something else under the key. */
function settingsOf({ sql }: World): MemorySettings | null {
  const entry = currentEntry(sql, 'state', memorySettingsKey)
  if (entry?.text == null) return null
  const parsed = memorySettings.safeParse(JSON.parse(entry.text))
  return parsed.success ? parsed.data : null
}

function spaceFrom({ provider, model, dims }: MemorySettings): Space {
  if (provider === 'static' || model === undefined || dims === undefined) return staticSpace
  return { provider, model, dims }
}

/**
 * A caller's own vector, as a memory will hold it.
 *
 * @throws Refusal when it is not of the session's space; the message names both
 */
export function givenVector({ world }: Transaction, id: string, data: PackedVector): Embedding {
  const dims = dimsOf(data)
  if (settingsOf(world) === null) {
    const known = world.meta(callersDims)
    if (known !== String(dims)) {
      // What the mark says holds only while a memory has such a vector.
      if (known !== null && anotherCallersVector(world, id)) throw mismatch(dims, callersModel, Number(known))
      world.setMeta(callersDims, String(dims))
    }
    return { model: callersModel, data }
  }
  const space = spaceOf(world)
  if (dims !== space.dims) throw mismatch(dims, space.model, space.dims)
  return { model: space.model, data }
}

/** The space of a world in which a memory was found: a vector that a caller gave tells, wherever it came from. */
export function spaceWith(world: World, space: Space, vector: Embedding | undefined): Space {
  if (space.provider !== 'static' || vector?.model !== callersModel || settingsOf(world) !== null)
    return space
  world.setMeta(callersDims, String(dimsOf(vector.data)))
  return spaceOf(world)
}

/** What the edge embedded, if it still is of the session's space. */
export function stillFits(world: World, embedding: Embedding | undefined): Embedding | null {
  if (embedding === undefined) return null
  const { model, dims } = spaceOf(world)
  return embedding.model === model && dimsOf(embedding.data) === dims ? embedding : null
}

/** Why a vector cannot be compared with the memories of a space, or null. */
export function misfit(
  { model, dims }: Space,
  vector: { data: PackedVector; model: string | null },
): string | null {
  const given = dimsOf(vector.data)
  if (given === dims) return null
  return mismatchText(given, model, dims)
}

function mismatch(given: number, model: string, dims: number): Refusal {
  return new Refusal('invalid', mismatchText(given, model, dims), { pointer: '/vector' })
}

function mismatchText(given: number, model: string, dims: number): string {
  return `the vector has ${given} dimensions; this session’s memory is of the model ${JSON.stringify(model)} with ${dims}`
}

function anotherCallersVector({ sql }: World, id: string): boolean {
  const found = sql.exec('SELECT 1 FROM memory_docs WHERE model = ? AND key <> ? LIMIT 1', callersModel, id)
  return found.toArray().length > 0
}
