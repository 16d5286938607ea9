// Finds the package's own files, from src/local (run by type stripping) as well as from the bundle in dist.

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { LocalError } from './errors.ts'

/** The bundled Worker, as `npm run build` makes it. */
export function workerPath(): string {
  const path = join(packageRoot(), 'dist', 'worker.js')
  if (!existsSync(path)) throw new LocalError('The Worker is not built yet: run "npm run build" first.')
  return path
}

/** The folder with the catalog's migrations. */
export function migrationsPath(): string {
  return join(packageRoot(), 'migrations')
}

function packageRoot(): string {
  let folder = import.meta.dirname
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder)
  return folder
}
