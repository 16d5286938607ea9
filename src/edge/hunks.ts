// A diff's items with, where both sides are text, the lines that differ.

import { structuredPatch } from 'diff'
import type { Env } from '../env.ts'
import { readText } from '../media/text.ts'
import type { FoundBlob } from '../session/blob-rpc.ts'
import type { DiffItem, Piece } from '../session/rpc.ts'

/** Where a blob lies, of those the sessions compared hold. */
export type Find = (sha256: string) => Promise<FoundBlob | null>

/** Longer texts are told apart by their digests alone. */
const mostChars = 256 * 1024
/** What one page of a diff spends on lines, so that many large files do not hold it up. */
const mostCharsTogether = 4 * 1024 * 1024
const contextLines = 3

/** The items as JSON, separated by commas. */
export async function withHunks(env: Env, find: Find, items: readonly DiffItem[]): Promise<Piece[]> {
  const pieces: Piece[] = []
  let room = mostCharsTogether
  for (const [index, item] of items.entries()) {
    const texts = item.change === 'changed' && room > 0 ? await textsOf(env, find, item) : null
    room -= (texts?.before.length ?? 0) + (texts?.after.length ?? 0)
    pieces.push(`${index === 0 ? '' : ','}{"ref":${JSON.stringify(item.ref)},"change":"${item.change}"`)
    if (item.before !== null) pieces.push(',"before":', ...item.before)
    if (item.after !== null) pieces.push(',"after":', ...item.after)
    if (texts !== null) pieces.push(`,"hunks":${JSON.stringify(hunksOf(texts.before, texts.after))}`)
    pieces.push('}')
  }
  return pieces
}

interface Texts {
  before: string
  after: string
}

async function textsOf(env: Env, find: Find, { kind, before, after }: DiffItem): Promise<Texts | null> {
  const [was, is] = [wholeText(before), wholeText(after)]
  if (was === null || is === null) return null
  const values: unknown[] = [JSON.parse(was), JSON.parse(is)]
  const texts = kind === 'file' ? await Promise.all(values.map((file) => fileText(env, find, file))) : values
  const [one, other] = texts
  // Equal bytes under another type or mode have no lines that differ.
  return typeof one === 'string' && typeof other === 'string' && one !== other
    ? { before: one, after: other }
    : null
}

function wholeText(pieces: Piece[] | null): string | null {
  if (pieces === null || !pieces.every((piece) => typeof piece === 'string')) return null
  const text = pieces.join('')
  return text.length > mostChars ? null : text
}

async function fileText(env: Env, find: Find, file: unknown): Promise<string | null> {
  if (typeof file !== 'object' || file === null) return null
  const blob: unknown = Reflect.get(file, 'blob')
  const size: unknown = Reflect.get(file, 'size')
  if (typeof blob !== 'string' || typeof size !== 'number' || size > mostChars) return null
  const found = await find(blob)
  return found && readText(env, found)
}

function hunksOf(before: string, after: string): object[] {
  const { hunks } = structuredPatch('', '', before, after, '', '', { context: contextLines })
  return hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => ({
    before_start: oldStart,
    before_lines: oldLines,
    after_start: newStart,
    after_lines: newLines,
    lines,
  }))
}
