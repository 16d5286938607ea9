// `npm run migrations`: writes the SQL file that takes the catalog from its last migration to its schema in the code.

import { ensureInstalled } from './lib/install.mjs'
import { bin, run } from './lib/run.mjs'

ensureInstalled()
process.exitCode = run(bin('drizzle-kit'), ['generate', ...process.argv.slice(2)])
