// Takes every row of a deleted session out of the catalog, a bounded number a call: a long history must not hold D1's one
// writer for seconds.

/** Rows of each table that one call takes away. */
const rowsPerStep = 1000

/**
 * Hides the session from every list at once, and takes away up to a thousand rows of each table. From the first call on its
 * batches are refused as `gone`; its own row goes last. Calling it again, also after the end, does no harm.
 *
 * @returns whether more remains: call again until it is false.
 */
export async function removeSession(
  db: D1Database,
  fleet: string,
  session: string,
  most: number = rowsPerStep,
): Promise<{ more: boolean }> {
  const of = (sql: string) => db.prepare(sql).bind(fleet, session)
  const some = (sql: string) => db.prepare(sql).bind(fleet, session, most)
  const results = await db.batch<{ more: number }>([
    of(dropLabels),
    of(hide),
    some(dropSome('commits', 'version')),
    some(dropSome('events', 'seq')),
    some(dropSome('entries', 'kind, key, since')),
    some(dropSome('snapshot_objects', 'name, sha256')),
    some(dropSome('snapshots', 'name')),
    of(dropRow),
    of('SELECT EXISTS (SELECT 1 FROM sessions WHERE fleet = ?1 AND session = ?2) AS more'),
  ])
  return { more: results.at(-1)?.results[0]?.more === 1 }
}

const dropLabels = `
  DELETE FROM session_labels
  WHERE (fleet, key, value, session) IN (
    SELECT s.fleet, label.key, label.value, s.session
    FROM sessions AS s, json_each(s.labels) AS label
    WHERE s.fleet = ?1 AND s.session = ?2
  )`

const hide = `
  UPDATE sessions SET deleted = 1, labels = '{}', title = NULL, title_folded = NULL
  WHERE fleet = ?1 AND session = ?2 AND NOT deleted`

/** `key` is the rest of the table's primary key after fleet and session. */
const dropSome = (table: string, key: string) => `
  DELETE FROM ${table}
  WHERE fleet = ?1 AND session = ?2 AND (${key}) IN (
    SELECT ${key} FROM ${table} WHERE fleet = ?1 AND session = ?2 ORDER BY ${key} LIMIT ?3
  )`

const dropRow = `
  DELETE FROM sessions
  WHERE fleet = ?1 AND session = ?2
    AND NOT EXISTS (SELECT 1 FROM commits WHERE fleet = ?1 AND session = ?2)
    AND NOT EXISTS (SELECT 1 FROM events WHERE fleet = ?1 AND session = ?2)
    AND NOT EXISTS (SELECT 1 FROM entries WHERE fleet = ?1 AND session = ?2)
    AND NOT EXISTS (SELECT 1 FROM snapshot_objects WHERE fleet = ?1 AND session = ?2)
    AND NOT EXISTS (SELECT 1 FROM snapshots WHERE fleet = ?1 AND session = ?2)`
