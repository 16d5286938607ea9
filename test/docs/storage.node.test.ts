// docs/storage.md has a section for every table there is, and a word on every column.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { createTables } from '../../src/auth/fleet-schema.ts'
import { migrate } from '../../src/session/schema.ts'

const page = readdirSync('docs')
  .map((name) => readFileSync(join('docs', name), 'utf8'))
  .join('\n')

/** The section `### WHERE: \`TABLE\``, up to the next heading. */
function section(where: string, table: string): string {
  return page.split(`\n### ${where}: \`${table}\`\n`)[1]?.split(/\n##+ /)[0] ?? ''
}

function columnsOf(database: DatabaseSync): [table: string, column: string][] {
  const rows = database
    .prepare(
      // A search index keeps tables of its own, which are not ours to describe.
      `SELECT t.name AS tab, c.name AS col FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
       WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite%'`,
    )
    .all()
  return rows.map(({ tab, col }) => [String(tab), String(col)])
}

/** As much of an object's storage as making tables takes. */
function storageOf(database: DatabaseSync) {
  const exec = (sql: string, ...values: (string | number)[]) => {
    if (values.length === 0) database.exec(sql)
    else database.prepare(sql).run(...values)
    return { toArray: () => [] }
  }
  const storage = { sql: { exec }, transactionSync: (act: () => void) => act() }
  // The rest of the platform's storage is never asked for here.
  return storage as unknown as DurableObjectStorage
}

const databases = {
  Object: new DatabaseSync(':memory:'),
  Fleet: new DatabaseSync(':memory:'),
  D1: new DatabaseSync(':memory:'),
}
migrate(storageOf(databases.Object), 0)
createTables(storageOf(databases.Fleet).sql, 'default', 0)
for (const name of readdirSync('migrations')
  .filter((file) => file.endsWith('.sql'))
  .sort()) {
  databases.D1.exec(readFileSync(join('migrations', name), 'utf8'))
}

describe.each(Object.entries(databases))('%s', (where, database) => {
  it('has tables', () => {
    expect(columnsOf(database).length).toBeGreaterThan(10)
  })

  it('each column is described', () => {
    const missing = columnsOf(database).filter(
      ([table, column]) => !section(where, table).includes(`\`${column}\``),
    )
    expect(missing).toEqual([])
  })
})
