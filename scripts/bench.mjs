// `npm run bench`: the measurements in bench, against the edge that `npm start` starts.

import { join } from 'node:path'
import { ensureBuilt } from './lib/build.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { root } from './lib/root.mjs'
import { become } from './lib/run.mjs'

ensureInstalled()
ensureBuilt()
become(join(root, 'bench', 'index.ts'), process.argv.slice(2))
