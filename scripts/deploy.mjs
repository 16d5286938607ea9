// `npm run deploy`: the catalog's migrations first, so that no new Worker meets an old schema, then the Worker.
// With --dry-run, only the bundle that would be uploaded, in dist/dry; that works offline and without an account.

import { ensureInstalled } from './lib/install.mjs'
import { bin, run } from './lib/run.mjs'

ensureInstalled()
const wrangler = (...args) => run(bin('wrangler'), args)
if (process.argv.includes('--dry-run')) {
  process.exitCode = wrangler('deploy', '--dry-run', '--outdir', 'dist/dry')
} else {
  process.exitCode = wrangler('d1', 'migrations', 'apply', 'CATALOG', '--remote') || wrangler('deploy')
}
