// `npm run example -- --run FILE --session ID`: an agent that lives in Lares and survives being killed.

import { join } from 'node:path'
import { ensureBuilt } from './lib/build.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { root } from './lib/root.mjs'
import { become } from './lib/run.mjs'

ensureInstalled()
ensureBuilt()
become(join(root, 'examples', 'durable-agent', 'main.ts'), process.argv.slice(2))
