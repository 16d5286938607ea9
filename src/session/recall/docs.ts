// Where a memory's row lies in the index: at a number that follows from its id, or at the next free one after it. So a number
// leads to an id and an id to a number without a second index, which every added memory would have to pay for.

import { hashes } from '../../crypto.ts'

/** The row of a memory; null when the index has none. */
export function docOf(sql: SqlStorage, key: string): number | null {
  for (const row of stretch(sql, key)) if (row.key === key) return row.doc
  return null
}

/** The row that a memory has or may take. */
export function docFor(sql: SqlStorage, key: string): number {
  let free: number | null = null
  let end = home(key)
  for (const row of stretch(sql, key)) {
    if (row.key === key) return row.doc
    if (row.key === null) free ??= row.doc
    end = row.doc + 1
  }
  return free ?? end
}

/** Every number at which a memory's row is, or was before it was taken away: where one reads, the other is seen to be gone. */
export function placesOf(sql: SqlStorage, key: string): number[] {
  const places = [...stretch(sql, key)].map(({ doc }) => doc)
  return [...places, (places.at(-1) ?? home(key) - 1) + 1]
}

/** Takes a row away, leaving its place where another was put behind it. */
export function dropDoc(sql: SqlStorage, doc: number): void {
  const next = sql.exec('SELECT 1 FROM memory_docs WHERE doc = ?', doc + 1).toArray().length > 0
  if (next)
    sql.exec(
      'UPDATE memory_docs SET key = NULL, digest = NULL, facts = NULL, model = NULL, vector = NULL, expires = NULL WHERE doc = ?',
      doc,
    )
  else sql.exec('DELETE FROM memory_docs WHERE doc = ?', doc)
}

type Row = { doc: number; key: string | null }

/** The unbroken rows from a key's own place on. */
function* stretch(sql: SqlStorage, key: string): Generator<Row> {
  for (let doc = home(key); ; doc++) {
    const row = sql.exec<Row>('SELECT doc, key FROM memory_docs WHERE doc = ?', doc).toArray()[0]
    if (row === undefined) return
    yield row
  }
}

/** 48 bits of a hash: exact in a number, and two of a million memories meet in one of five hundred worlds. */
function home(key: string): number {
  return Buffer.from(hashes.sha256(key)).readUIntBE(0, 6)
}
