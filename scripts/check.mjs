// `npm run check`: types, lint and format. Both run even when the first finds something, to show all there is.

import { ensureInstalled } from './lib/install.mjs'
import { bin, run } from './lib/run.mjs'

ensureInstalled()
const types = run(bin('typescript', 'tsc'), ['-p', 'tsconfig.json'])
const lint = run(bin('@biomejs/biome', 'biome'), ['check', '--error-on-warnings'])
process.exitCode = types || lint
