// `npm run build`: everything that is published, in dist.

import { buildAll } from './lib/build.mjs'
import { ensureInstalled } from './lib/install.mjs'

ensureInstalled()
buildAll()
