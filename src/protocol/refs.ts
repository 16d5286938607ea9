// References: how one thing in a world is named in text, in lineage, history and `from`.

import { keyProblem, pathProblem, tableNamePattern } from './names.ts'

export type EntryKind = 'state' | 'file' | 'memory' | 'table' | 'row' | 'view'
export type RefKind = 'log' | EntryKind

export interface Ref {
  kind: RefKind
  /** The key, path, id, `TABLE/KEY` or name; of the log, the decimal `seq`. */
  key: string
  version?: number
}

export function formatRef(kind: RefKind, key: string | number): string {
  return `${kind}:${key}`
}

const shape = /^(log|state|file|memory|row|table|view):([\s\S]*)$/

/**
 * Parses `kind:key`, with `@VERSION` after it where a version is meant. A key that itself ends in `@` and digits is written
 * with its version.
 *
 * @returns null when the text is not a reference.
 * @example parseRef('file:clip.mp4@12') // { kind: 'file', key: 'clip.mp4', version: 12 }
 */
export function parseRef(text: string): Ref | null {
  const match = shape.exec(text)
  if (!match) return null
  // The pattern admits these words alone.
  const kind = match[1] as RefKind
  const rest = match[2] ?? ''
  const at = /^([\s\S]*)@(\d{1,15})$/.exec(rest)
  const key = at ? (at[1] ?? '') : rest
  if (!keyFits(kind, key)) return null
  return at ? { kind, key, version: Number(at[2]) } : { kind, key }
}

function keyFits(kind: RefKind, key: string): boolean {
  switch (kind) {
    case 'log':
      return /^\d{1,15}$/.test(key)
    case 'file':
      return pathProblem(key) === null
    case 'table':
    case 'view':
      return tableNamePattern.test(key)
    case 'row':
      return key.includes('/') && keyProblem(key) === null
    default:
      return keyProblem(key) === null
  }
}
