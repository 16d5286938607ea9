// The local catalog follows the migrations as the deployed one does.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Miniflare } from 'miniflare'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { migrate } from '../../src/local/migrate.ts'

let folder: string
let miniflare: Miniflare
let database: Awaited<ReturnType<Miniflare['getD1Database']>>
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lares-test-'))
  miniflare = new Miniflare({ cf: false, logRequests: false, workers: [{ config: CONFIG }] })
  database = await miniflare.getD1Database('CATALOG')
})
afterEach(async () => {
  await miniflare.dispose()
  rmSync(folder, { recursive: true })
})

it('a migration is applied once, in name order', async () => {
  write('0002_b.sql', 'CREATE TABLE b (x);')
  write('0001_a.sql', 'CREATE TABLE a (x)')
  write('notes.txt', 'not SQL')
  expect(await migrate(database, folder)).toEqual(['0001_a.sql', '0002_b.sql'])
  expect(await migrate(database, folder)).toEqual([])
  expect(await names('SELECT name FROM d1_migrations ORDER BY id')).toEqual(['0001_a.sql', '0002_b.sql'])
})

it('a migration that fails halfway leaves nothing and can be tried again', async () => {
  write('0001_a.sql', 'CREATE TABLE a (x); CREATE TABLE a (x)')
  await expect(migrate(database, folder)).rejects.toThrow(/already exists/)
  expect(await names("SELECT name FROM sqlite_schema WHERE name = 'a'")).toEqual([])
  write('0001_a.sql', 'CREATE TABLE a (x)')
  expect(await migrate(database, folder)).toEqual(['0001_a.sql'])
})

it('a migration may hold triggers, semicolons in texts, breakpoints, and a comment at its end', async () => {
  write(
    '0001_a.sql',
    `CREATE TABLE a (name);
     --> statement-breakpoint
     CREATE TRIGGER t AFTER INSERT ON a WHEN new.name = ';' BEGIN
       INSERT INTO a VALUES ('it''s'); INSERT INTO a VALUES ('done');
     END;
     INSERT INTO a VALUES (';');
     -- the last word`,
  )
  await migrate(database, folder)
  expect(await names('SELECT name FROM a')).toEqual([';', "it's", 'done'])
})

it('no migrations at all are no mistake', async () => {
  expect(await migrate(database, join(folder, 'none'))).toEqual([])
})

const CONFIG = {
  name: 'empty',
  compatibilityDate: '2026-11-01',
  manifest: {
    mainModule: 'worker.js',
    modulesRoot: '/',
    modules: { 'worker.js': { type: 'esm' as const, contents: 'export default {}' } },
  },
  env: { CATALOG: { type: 'd1' as const, id: 'catalog' } },
}

function write(name: string, sql: string): void {
  writeFileSync(join(folder, name), sql)
}

async function names(sql: string): Promise<string[]> {
  const { results } = await database.prepare(sql).all<{ name: string }>()
  return results.map((row) => row.name)
}
