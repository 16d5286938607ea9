// Erasure in the catalog: values go, what the chain needs stays.

import { type Cell, carry } from './carry.ts'

/** One erased value: an event (`kind` is `log`, `key` its seq), or what an entry was from a version on. */
export interface ErasedRow {
  kind: string
  key: string
  since: number
}

/** Takes the values away wherever they stand. The same again changes nothing. */
export async function eraseValues(
  db: D1Database,
  fleet: string,
  session: string,
  erased: readonly ErasedRow[],
): Promise<void> {
  const events = erased.filter(({ kind }) => kind === 'log').map(({ key }): Cell[] => [Number(key)])
  const entries = erased
    .filter(({ kind }) => kind !== 'log')
    .map(({ kind, key, since }): Cell[] => [kind, key, since])
  const statements = [
    ...carry(events).map((parcel) => db.prepare(eraseEvents).bind(fleet, session, parcel)),
    ...carry(entries).map((parcel) => db.prepare(eraseEntries).bind(fleet, session, parcel)),
  ]
  if (statements.length > 0) await db.batch(statements)
}

const eraseEvents = `
  UPDATE events SET payload = NULL, blob = NULL, key = NULL, type = 'lares.erased', size = 0
  WHERE fleet = ?1 AND session = ?2 AND seq IN (SELECT value ->> 0 FROM json_each(?3))`

const eraseEntries = `
  UPDATE entries SET value = NULL, blob = NULL, size = 0
  WHERE fleet = ?1 AND session = ?2
    AND (kind, key, since) IN (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?3))`
