// Merging two versions of a text file line by line, after the three-way merge of diff3.

import { merge as diff3 } from 'node-diff3'
import { hashes, hex } from '../../crypto.ts'
import type { Env } from '../../env.ts'
import { holdObject, noteStored } from '../../media/hold.ts'
import { blobKey } from '../../media/keys.ts'
import { readText } from '../../media/text.ts'
import type { FoundBlob, NewBlob } from '../blob-rpc.ts'
import type { Identity } from '../world.ts'
import type { FileValue } from './merge.ts'

/** Larger files are merged as wholes. */
const mostBytes = 1024 * 1024

export interface MergedFile {
  value: FileValue
  blob: NewBlob
}

/** Merges two versions of a text file; null when both touched the same lines, or it is no text. */
export type LineMerge = (base: FileValue, ours: FileValue, theirs: FileValue) => Promise<MergedFile | null>

/** @param find where a blob lies, of those that one of the two sessions holds */
export function lineMerger(
  env: Env,
  { fleet, session }: Pick<Identity, 'fleet' | 'session'>,
  find: (sha256: string) => Promise<FoundBlob | null>,
): LineMerge {
  return async (base, ours, theirs) => {
    if ([base, ours, theirs].some(({ size }) => size > mostBytes)) return null
    const [was, mine, other] = await Promise.all(
      [base, ours, theirs].map(async ({ blob }) => {
        const found = await find(blob)
        return found && readText(env, found)
      }),
    )
    if (was == null || mine == null || other == null) return null
    const { conflict, result } = diff3(mine.split('\n'), was.split('\n'), other.split('\n'))
    if (conflict) return null
    const blob = await store(env, fleet, session, new TextEncoder().encode(result.join('\n')))
    // Whatever else theirs changed about the file comes along; what it left alone stays ours.
    const members = Object.keys(theirs).filter(
      (name) => JSON.stringify(theirs[name]) !== JSON.stringify(base[name]),
    )
    const changed = Object.fromEntries(members.map((name) => [name, theirs[name]]))
    return { value: { ...ours, ...changed, blob: blob.sha256, size: blob.size }, blob }
  }
}

async function store(env: Env, fleet: string, session: string, bytes: Uint8Array): Promise<NewBlob> {
  const sha256 = hex(hashes.sha256(bytes))
  const size = bytes.byteLength
  const hold = await holdObject(env, fleet, session, { name: sha256, key: blobKey(fleet, sha256), size })
  if (!hold.stored) {
    await env.BLOBS.put(hold.key, bytes, { sha256 })
    await noteStored(env, fleet, [sha256])
  }
  return { sha256, size, place: { key: hold.key, start: 0 } }
}
