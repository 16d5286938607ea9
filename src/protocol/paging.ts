// Paging: `limit`, and cursors that say where a list stopped. A cursor is opaque to clients and checked like any input.

import { limits } from './limits.ts'

/** A page size, clamped; null for anything that is not a whole number of at least 1. */
export function parseLimit(raw: string | undefined): number | null {
  if (raw === undefined) return limits.pageDefault
  if (!/^\d{1,9}$/.test(raw) || Number(raw) < 1) return null
  return Math.min(Number(raw), limits.page)
}

/** A whole number of at least `least`, as text; null for anything else. */
export function parseWhole(raw: string, least = 0): number | null {
  if (!/^\d{1,15}$/.test(raw)) return null
  const n = Number(raw)
  return n >= least ? n : null
}

/** Where a list goes on: the last key it gave, tied to the list it belongs to. */
export function encodeCursor(list: string, last: string | number): string {
  const bytes = new TextEncoder().encode(JSON.stringify([list, last]))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

/** The last key a cursor holds, or null when the text is no cursor of this list. */
export function decodeCursor(list: string, cursor: string): string | number | null {
  if (!/^[A-Za-z0-9_-]{1,8192}$/.test(cursor)) return null
  try {
    const binary = atob(cursor.replaceAll('-', '+').replaceAll('_', '/'))
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      Uint8Array.from(binary, (c) => c.charCodeAt(0)),
    )
    const parsed: unknown = JSON.parse(text)
    if (!Array.isArray(parsed) || parsed.length !== 2 || parsed[0] !== list) return null
    const last: unknown = parsed[1]
    if (typeof last === 'string') return last.isWellFormed() ? last : null
    return typeof last === 'number' && Number.isSafeInteger(last) && last >= 0 ? last : null
  } catch {
    return null
  }
}
