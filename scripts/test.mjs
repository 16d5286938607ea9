// `npm test`: every test, from a fresh clone. What follows `--` goes to vitest.

import { ensureBuilt } from './lib/build.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { bin, run } from './lib/run.mjs'

ensureInstalled()
// The black-box tests start the edge that `npm start` starts.
ensureBuilt()
process.exitCode = run(bin('vitest'), ['run', ...process.argv.slice(2)])
