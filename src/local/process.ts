// Tells processes apart across restarts. A pid alone is not enough: it is soon given to somebody else, in a
// container often to the very next process, so a process is a pid and the moment it was born.

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

export interface ProcessRef {
  pid: number
  /** When it started, in the system's own words; null where that cannot be found out. */
  born: string | null
}

export function refer(pid: number): ProcessRef {
  return { pid, born: bornAt(pid) }
}

/** Whether this very process still runs. */
export function isAlive(ref: ProcessRef): boolean {
  try {
    process.kill(ref.pid, 0)
  } catch (error) {
    // A process of somebody else's may not be signalled, but it is there.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false
  }
  return ref.born === null || bornAt(ref.pid) === ref.born
}

/** Our direct children that run this program. */
export function childrenRunning(program: string): ProcessRef[] {
  return (isLinux ? childrenFromProc(program) : childrenFromPgrep(program)).map(refer)
}

const isLinux = process.platform === 'linux'

function bornAt(pid: number): string | null {
  if (isLinux) {
    const stat = readStat(pid)
    return stat === null || stat.state === 'Z' ? null : `${bootId()}/${stat.started}`
  }
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout?.trim() || null
}

/** The fields after the program's name, which may itself hold spaces and brackets. See proc(5). */
function readStat(pid: number): { state: string; parent: number; started: string } | null {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return null
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { state: fields[0] ?? '', parent: Number(fields[1]), started: fields[19] ?? '' }
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
}

function childrenFromProc(program: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && readStat(pid)?.parent === process.pid && runs(pid, program))
}

function runs(pid: number, program: string): boolean {
  try {
    const [command = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    return command.slice(command.lastIndexOf('/') + 1) === program
  } catch {
    return false
  }
}

function childrenFromPgrep(program: string): number[] {
  const { stdout } = spawnSync('pgrep', ['-P', String(process.pid), program], { encoding: 'utf8' })
  return (stdout ?? '').split('\n').filter(Boolean).map(Number)
}
