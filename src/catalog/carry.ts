// How many rows travel to D1 in few parameters: as JSON arrays, which `json_each(?)` turns back into rows. D1 takes 100
// parameters a statement and 2 MB a value, so 500 rows as bound parameters would be dozens of statements; this is one.

import { utf8Length } from '../protocol/canonical.ts'

export type Cell = string | number | null

/** Bytes of one parameter, and of the largest text kept in a row. */
export const carriedBytes = 900_000

/** JSON arrays of rows, in order, each below `carriedBytes` unless a single row is larger. None for no rows. */
export function carry(rows: readonly (readonly Cell[])[]): string[] {
  const parcels: string[] = []
  let parts: string[] = []
  let bytes = 0
  for (const row of rows) {
    const text = JSON.stringify(row)
    const length = utf8Length(text) + 1
    if (parts.length > 0 && bytes + length > carriedBytes) {
      parcels.push(`[${parts.join(',')}]`)
      parts = []
      bytes = 0
    }
    parts.push(text)
    bytes += length
  }
  if (parts.length > 0) parcels.push(`[${parts.join(',')}]`)
  return parcels
}

/** A JSON text as it may stand in a row: null when it would not fit. R2 or the object has it then. */
export function inlined(json: string | null): string | null {
  // Quoting doubles quotes and backslashes, UTF-8 takes up to three bytes: no character costs more than three.
  if (json === null || json.length * 3 <= carriedBytes) return json
  return utf8Length(JSON.stringify(json)) <= carriedBytes ? json : null
}
