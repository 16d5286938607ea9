// Which blobs items refer to, and whether their bytes are in R2.

import type { Env } from '../env.ts'
import type { RefKind } from '../protocol/refs.ts'
import type { Item } from '../snapshot/page.ts'
import type { LocatedBlob } from './blob-rpc.ts'
import { locateBlobs } from './blobs.ts'
import type { World } from './world.ts'

/** The SHA-256 of a blob that some item refers to and R2 does not have; null when all are there. */
export async function missingBlob(
  world: World,
  env: Env,
  kind: RefKind,
  items: readonly Item[],
): Promise<string | null> {
  const wanted = new Set(items.flatMap((item) => blobsOf(kind, item)))
  if (wanted.size === 0) return null
  const located = new Map(locateBlobs(world.sql, [...wanted]).map((blob) => [blob.sha256, blob]))
  // One look a pack, however many blobs lie in it.
  const sizes = new Map<string, number | null>()
  for (const sha256 of wanted) {
    const blob = located.get(sha256)
    if (blob === undefined || !(await reaches(env, sizes, blob))) return sha256
  }
  return null
}

async function reaches(
  env: Env,
  sizes: Map<string, number | null>,
  { key, start, size }: LocatedBlob,
): Promise<boolean> {
  let there = sizes.get(key)
  if (there === undefined) {
    there = (await env.BLOBS.head(key))?.size ?? null
    sizes.set(key, there)
  }
  return there !== null && there >= start + size
}

/** The blobs an item refers to: its own large value, and a file's bytes. */
export function blobsOf(kind: RefKind, { text, blob }: Pick<Item, 'text' | 'blob'>): string[] {
  const found = blob === null ? [] : [blob]
  if (kind === 'file' && text !== null) {
    const value: { blob?: unknown } = JSON.parse(text)
    if (typeof value.blob === 'string') found.push(value.blob)
  }
  if (kind === 'row' && text !== null) {
    const value: { '@'?: string[] } = JSON.parse(text)
    found.push(...(value['@'] ?? []))
  }
  return found
}
