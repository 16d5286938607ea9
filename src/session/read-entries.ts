// Reading entries of any kind: one value, and pages by key with prefix and delimiter.

import { hex } from '../crypto.ts'
import { fail, type Outcome } from '../protocol/errors.ts'
import type { EntryKind } from '../protocol/refs.ts'
import type { TreeFile, TreeQuery } from './blob-rpc.ts'
import { findBlob } from './blobs.ts'
import { noValue, noValueMark } from './erased.ts'
import { PageBuilder, valuePiece } from './pieces.ts'
import type { At, EntryQuery, EntryRead, PageRead, Piece } from './rpc.ts'
import { type Entry, entriesFrom, entryAt } from './store.ts'
import { resolveAt } from './time.ts'
import type { World } from './world.ts'

type ListedKind = 'state' | 'file'

export function readEntry(world: World, kind: EntryKind, key: string, at: At): Outcome<EntryRead> {
  const resolved = resolveAt(world, at)
  if (!resolved.ok) return resolved
  const { version } = resolved
  const entry = entryAt(world.sql, kind, key, version)
  if (entry === null)
    return fail('not_found', `there is no such ${kind === 'file' ? 'file' : 'key'}`, {
      head: world.head.version,
    })
  const value = valuePiece(entry)
  if (value === null) return noValue(entry, `${kind}:${key}`)
  const read = {
    ok: true as const,
    version,
    key,
    since: entry.since,
    digest: hex(entry.digest),
    value,
    size: entry.size,
  }
  const found =
    kind === 'file' && typeof value === 'string' ? findBlob(world.sql, JSON.parse(value).blob) : null
  return found === null ? read : { ...read, place: found.place }
}

export function listEntries(world: World, kind: ListedKind, query: EntryQuery): Outcome<PageRead> {
  const resolved = resolveAt(world, query.at)
  if (!resolved.ok) return resolved
  const builder = new PageBuilder(query.limit)
  for (const item of walk(world, kind, query, resolved.version)) {
    const added =
      'group' in item
        ? builder.add(item.group, `{"prefix":${JSON.stringify(item.group)}}`)
        : builder.add(item.key, ...entryPieces(kind, item))
    if (!added) break
  }
  return { ok: true, ...builder.page(resolved.version) }
}

/** Files of one page of a tree, and how many bytes of theirs it may carry. */
const treePage = 500
const treePageBytes = 8 * 1024 * 1024

export function listTree(
  world: World,
  query: TreeQuery,
): Outcome<{ version: number; files: TreeFile[]; next: string | null }> {
  const resolved = resolveAt(world, query.at)
  if (!resolved.ok) return resolved
  const files: TreeFile[] = []
  let room = treePageBytes
  let next: string | null = null
  const wanted = { ...query, delimiter: null, limit: treePage }
  for (const item of walk(world, 'file', wanted, resolved.version)) {
    if ('group' in item) continue
    const last = files.at(-1)
    if (last !== undefined && (files.length >= treePage || room <= 0)) {
      next = last.path
      break
    }
    if (item.text === null) return fail('corrupt', `file:${item.key} does not read back`)
    const file: Omit<TreeFile, 'path' | 'place'> = JSON.parse(item.text)
    const { blob, size, type, mode, mtime } = file
    const place = findBlob(world.sql, blob)?.place ?? null
    if (place !== null && 'bytes' in place) room -= size
    files.push({ path: item.key, blob, size, type, mode, mtime, place })
  }
  return { ok: true, version: resolved.version, files, next }
}

/** What a listing shows, in order: entries, and each folder once in place of all that lies in it. */
function* walk(
  world: World,
  kind: ListedKind,
  query: EntryQuery,
  version: number,
): Generator<Entry | { group: string }> {
  const { prefix, delimiter, within } = query
  const cursor = typeof query.cursor === 'string' ? query.cursor : null
  let group = delimiter !== null && cursor?.endsWith(delimiter) ? cursor : null
  let bound = group === null ? (cursor ?? prefix) : after(group)
  let inclusive = cursor === null
  for (;;) {
    let jumped = false
    for (const entry of entriesFrom(world.sql, kind, bound, inclusive, version, world.head.version)) {
      const { key } = entry
      if (!key.startsWith(prefix)) return
      inclusive = false
      if (group !== null && key.startsWith(group)) continue
      if (within !== null && !within.some((folder) => lies(key, folder))) continue
      const cut = delimiter === null ? -1 : key.indexOf(delimiter, prefix.length)
      if (delimiter === null || cut === -1) {
        yield entry
        continue
      }
      group = key.slice(0, cut + delimiter.length)
      yield { group }
      // Jump over what lies in the folder instead of reading it.
      bound = after(group)
      jumped = true
      break
    }
    if (!jumped) return
  }
}

/** Just above nearly every key that begins so; the few above it are recognised and passed over. */
function after(prefix: string): string {
  return `${prefix}\u{10FFFF}`
}

/** Whether a path is a folder or lies in it. */
export function lies(key: string, folder: string): boolean {
  return folder === '' || key === folder || key.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}

function entryPieces(kind: ListedKind, entry: Entry): Piece[] {
  const value = valuePiece(entry)
  const mark = value === null ? noValueMark(entry) : ''
  if (kind === 'state')
    return [
      `{"key":${JSON.stringify(entry.key)},"value":`,
      value ?? 'null',
      `,"since":${entry.since}${mark}}`,
    ]
  // A file's own members follow its path; they are canonical JSON of a small object, never in R2.
  const members = typeof value === 'string' ? `,${value.slice(1, -1)}` : ''
  return [`{"path":${JSON.stringify(entry.key)}${members},"since":${entry.since}${mark}}`]
}
