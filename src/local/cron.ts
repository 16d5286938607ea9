// workerd alone knows no clock for cron triggers; this is ours. More often than in production, because a local edge
// seldom runs for long.

import type { Miniflare } from 'miniflare'

/** Runs the Worker's `scheduled` handler every ten minutes until the returned function is called. */
export function startCron(miniflare: Miniflare): () => void {
  const timer = setInterval(() => void run(miniflare), EVERY)
  timer.unref()
  return () => clearInterval(timer)
}

const EVERY = 10 * 60_000

async function run(miniflare: Miniflare): Promise<void> {
  try {
    const worker = await miniflare.getWorker()
    await worker.scheduled({ cron: '*/10 * * * *' })
  } catch {
    // The Worker logs its own failures; being closed meanwhile is none.
  }
}
