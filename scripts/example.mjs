// `npm run example -- --run FILE --session ID`: an agent that lives in Lares and survives being killed.
// `npm run example:collector`: a day of one that collects pictures and notes. On the project's own Node, which runs .ts.

import { join } from 'node:path'
import { ensureBuilt } from './lib/build.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { root } from './lib/root.mjs'
import { become } from './lib/run.mjs'

ensureInstalled()
ensureBuilt()
const [example, ...args] = process.argv.slice(2)
become(join(root, 'examples', example, 'main.ts'), args)
