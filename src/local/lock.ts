// One edge per data folder: two would each hold their own copy of the same objects and write over each other. The
// lock names its holder and the holder's workerd, so that a lock left by a crash is told from a living one and what
// the crash left running is ended before anything else writes.

import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { LocalError } from './errors.ts'
import { isAlive, type ProcessRef, refer } from './process.ts'

export interface DataLock {
  /** Notes the processes that write to the data on our behalf. */
  note(runtimes: ProcessRef[]): void
  release(): void
}

/** Takes the data folder, or throws when another edge serves it and goes on doing so. */
export async function lockData(data: string): Promise<DataLock> {
  const path = join(data, 'lock')
  const self = refer(process.pid)
  const deadline = Date.now() + PATIENCE
  while (!create(path, { holder: self, runtimes: [] })) {
    const holder = await clear(path)
    if (holder === null) continue
    if (Date.now() > deadline) {
      throw new LocalError(
        `Another edge (process ${holder.pid}) serves ${data}. Stop it first, or choose another folder with --data.`,
      )
    }
    await sleep(50)
  }
  let held = true
  return {
    note(runtimes) {
      if (held) replace(path, { holder: self, runtimes })
    },
    release() {
      // Once only: the next holder may be there already.
      if (held) rmSync(path, { force: true })
      held = false
    },
  }
}

// A predecessor that was just told to stop gets this long to do so, in milliseconds: restarts need no pause between.
const PATIENCE = 2_000

interface LockRecord {
  holder: ProcessRef
  runtimes: ProcessRef[]
}

/** Linking a complete file into place fails when there is one already, and shows nobody half of one. */
function create(path: string, record: LockRecord): boolean {
  const draft = draftOf(path)
  writeFileSync(draft, JSON.stringify(record))
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

function replace(path: string, record: LockRecord): void {
  const draft = draftOf(path)
  writeFileSync(draft, JSON.stringify(record))
  renameSync(draft, path)
}

/** Removes the lock of an edge that is no more, with whatever of it still runs. Returns a holder that lives. */
async function clear(path: string): Promise<ProcessRef | null> {
  const found = read(path)
  if (found === null) return null
  if (found.record !== null && isAlive(found.record.holder)) return found.record.holder
  for (const runtime of found.record?.runtimes ?? []) await end(runtime)
  // Two starts may find the same stale lock. Moving it aside succeeds for one; who moved a fresh one puts it back.
  const aside = draftOf(path)
  try {
    renameSync(path, aside)
  } catch {
    return null
  }
  if (read(aside)?.text !== found.text) linkSync(aside, path)
  rmSync(aside, { force: true })
  return null
}

function read(path: string): { text: string; record: LockRecord | null } | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return null
  }
  try {
    return { text, record: JSON.parse(text) as LockRecord }
  } catch {
    // Nothing of ours writes half a lock: a power cut emptied it, and no process outlived that.
    return { text, record: null }
  }
}

async function end(runtime: ProcessRef): Promise<void> {
  while (isAlive(runtime)) {
    process.kill(runtime.pid, 'SIGKILL')
    await sleep(10)
  }
}

function draftOf(path: string): string {
  return `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`
}
