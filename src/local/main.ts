// `npm start`, once everything is installed and built: one edge in this process, until a signal ends it.

import { type Args, readArgs, USAGE } from './args.ts'
import { LocalError } from './errors.ts'
import { greeting } from './greeting.ts'

// For an orderly stop, in milliseconds; what was acknowledged is safe without one.
const PATIENCE = 5_000

try {
  const args = readArgs(process.argv.slice(2))
  if (args.help) process.stdout.write(USAGE)
  else await run(args)
} catch (error) {
  if (!(error instanceof LocalError)) throw error
  console.error(error.message)
  process.exitCode = 1
}

async function run({ help: _, ...options }: Args): Promise<void> {
  // Only now: Miniflare takes half a second to load, and a wrong flag should be answered at once.
  const { startLocal } = await import('./index.ts')
  const edge = await startLocal(options)
  const stop = () => {
    setTimeout(() => process.exit(1), PATIENCE)
    void edge.close().then(() => process.exit(0))
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // Miniflare's own handler ends the process at once; here a stop is orderly, and its exit code says so. Not
    // `once`: Ctrl-C comes twice, from the terminal to the whole group and from the script that started us.
    process.removeAllListeners(signal)
    process.on(signal, stop)
  }
  // Whoever started us is gone, however it went: nobody is left to stop us.
  process.once('disconnect', stop)
  console.log(greeting({ ...edge, keyIsGiven: options.key !== undefined }))
}
