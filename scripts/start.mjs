// `npm start`: from a fresh clone to a serving edge, with nothing but Node and npm on the machine.

import { join } from 'node:path'
import { ensureBuilt } from './lib/build.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { root } from './lib/root.mjs'
import { become } from './lib/run.mjs'

ensureInstalled()
ensureBuilt()
become(join(root, 'src', 'local', 'main.ts'), process.argv.slice(2))
