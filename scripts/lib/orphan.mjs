// npm does not pass a signal on through the shell that it runs scripts in: ending npm alone would leave the edge
// serving, unseen. So a script watches whether npm is still there.

import { readFileSync } from 'node:fs'

/** Calls back once when the npm that started us is gone. Started without npm, we are nobody's child to watch. */
export function whenOrphaned(callback) {
  if (process.env.npm_lifecycle_event === undefined) return
  const parent = process.ppid
  const before = npmBehind(parent)
  const timer = setInterval(() => {
    if (process.ppid === parent && npmBehind(parent) === before) return
    clearInterval(timer)
    callback()
  }, 100)
  timer.unref()
}

/** The parent of the shell between npm and us, where there is a shell and a /proc to ask. */
function npmBehind(shell) {
  try {
    const stat = readFileSync(`/proc/${shell}/stat`, 'latin1')
    if (!stat.includes('(sh)')) return undefined
    return stat.slice(stat.lastIndexOf(')')).split(' ')[2]
  } catch {
    return undefined
  }
}
