// When this process is killed outright, workerd is left behind: still on the port, still writing to the data. A shell
// that waits for the end of a pipe notices at once, however we died, and ends it.

import { spawn } from 'node:child_process'

export interface Reaper {
  /** This process, too, ends with us. */
  watch(pid: number): void
  /** Stands down: what was watched is gone, or is to live on. */
  stop(): void
}

export function startReaper(): Reaper {
  if (process.platform === 'win32') return { watch() {}, stop() {} }
  const shell = spawn('sh', ['-c', SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'] })
  // Without a shell the next start still clears up, by the data folder's lock.
  shell.on('error', () => {})
  shell.stdin.on('error', () => {})
  shell.unref()
  return {
    watch(pid) {
      shell.stdin.write(`${pid}\n`)
    },
    stop() {
      shell.kill('SIGKILL')
    },
  }
}

// Deaf to Ctrl-C, which reaches the whole process group: it must outlive us to be of use.
const SCRIPT = `
trap '' INT TERM HUP
while read -r pid; do pids="$pids $pid"; done
[ -z "$pids" ] || kill -9 $pids
`
