// Brings the local catalog up to the schema, with the table and the order that `wrangler d1 migrations apply` uses,
// so that the same folder serves both.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The part of D1 that is needed, as Miniflare hands it to Node. */
interface Database {
  prepare(sql: string): { all(): Promise<{ results: unknown[] }> }
  batch(statements: ReturnType<Database['prepare']>[]): Promise<unknown>
}

/** Applies what is new in the folder, in name order, each file whole or not at all. Returns the names applied. */
export async function migrate(database: Database, folder: string): Promise<string[]> {
  await database.prepare(TABLE).all()
  const { results } = await database.prepare('SELECT name FROM d1_migrations').all()
  const applied = new Set(results.map((row) => (row as { name: string }).name))
  const fresh = sqlFiles(folder).filter((name) => !applied.has(name))
  for (const name of fresh) {
    const sql = readFileSync(join(folder, name), 'utf8')
    // One batch is one transaction. The line break ends a comment on the file's last line.
    await database.batch([
      database.prepare(`${sql}\n;INSERT INTO d1_migrations (name) VALUES (${quote(name)})`),
    ])
  }
  return fresh
}

const TABLE = `
  CREATE TABLE IF NOT EXISTS d1_migrations (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT UNIQUE,
    applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
  )`

function sqlFiles(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
