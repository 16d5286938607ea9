// Processor time of a runtime: what it worked, whatever else the machine did meanwhile. Where others share the machine this
// tells more than a clock.

import { readFileSync } from 'node:fs'

/** Milliseconds that a process has run on a processor so far; null where the system does not tell. */
export function processorTime(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // After the program's name in brackets; fields 14 and 15 are ticks of 10 ms in user and in system mode. See proc(5).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return null
  }
}
