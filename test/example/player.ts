// The example's harness as its own process, so that a test can kill, stop and continue it.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface PlayOptions {
  url: string
  key: string
  file: string
  session: string
  /** Seconds. */
  ttl: number
  /** Milliseconds before each step. */
  delay: number
  /** Where acknowledged steps are written. */
  acks: string
  holder?: string
}

export interface Player {
  /** The exit code, or null when it was killed. */
  exit: Promise<number | null>
  ended(): boolean
  output(): string
  /** Resolves when its output has this text, or will not get it any more: then false. */
  said(text: string): Promise<boolean>
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void
}

export function play({ url, key, file, session, ttl, delay, acks, holder }: PlayOptions): Player {
  const options = { run: file, session, url, ttl: String(ttl), delay: String(delay), acks, holder }
  const args = Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  )
  const child = spawn(process.execPath, ['examples/durable-agent/main.ts', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, LARES_KEY: key },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  let ended = false
  const exit = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      ended = true
      resolve(code)
    })
  })
  const said = async (text: string) => {
    while (!output.includes(text) && !ended) await new Promise((resolve) => setTimeout(resolve, 5))
    return output.includes(text)
  }
  killWithUs(child)
  return { exit, ended: () => ended, output: () => output, said, signal: (name) => void child.kill(name) }
}

export interface Ack {
  step: number
  version: number
}

export function acksFile(): string {
  return join(mkdtempSync(join(tmpdir(), 'lares-acks-')), 'acks.jsonl')
}

/** What harnesses were told is done. A last line that a kill cut in half tells nothing. */
export function readAcks(file: string): Ack[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line))
}

function killWithUs(child: ChildProcess): void {
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('close', () => process.off('exit', kill))
}
