// A whole local edge as its own process group, as `npm start` makes one, so that a test can kill all of it at once,
// the way a machine dies.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface EdgeOptions {
  /** The folder to serve. When absent, a temporary one that `stop()` removes. */
  data?: string
  /** The root key; `null` lets the edge use its own. */
  key?: string | null
  /** 0, the default, takes any free port. */
  port?: number
}

export interface Edge {
  url: string
  key: string
  data: string
  /** The process that holds workerd. */
  pid: number
  /** What it has printed so far, both streams. */
  output(): string
  /** SIGKILL to the whole group; resolves when its first process is gone. */
  kill9(): Promise<void>
  /** SIGTERM, and the exit code it ends with. */
  stop(): Promise<number | null>
}

export const TEST_KEY = 'test-root-key'

/** Starts an edge and resolves when it serves. */
export async function startEdge({ data, key = TEST_KEY, port = 0 }: EdgeOptions = {}): Promise<Edge> {
  const folder = data ?? mkdtempSync(join(tmpdir(), 'lares-test-'))
  const run = runLocal(['--data', folder, '--port', String(port), ...(key === null ? [] : ['--key', key])])
  const url = await run.find(/^Lares is ready at (\S+)$/m)
  return {
    url,
    key: key ?? JSON.parse(readFileSync(join(folder, 'secrets.json'), 'utf8')).root_key,
    data: folder,
    pid: run.pid,
    output: run.output,
    async kill9() {
      process.kill(-run.pid, 'SIGKILL')
      await run.exit
    },
    async stop() {
      run.child.kill('SIGTERM')
      const code = await run.exit
      if (data === undefined) rmSync(folder, { recursive: true, force: true })
      return code
    },
  }
}

/** The local edge's command line, for starts that are meant to fail. */
export function runLocal(args: string[]) {
  const child = spawn(process.execPath, ['src/local/main.ts', ...args], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve))
  killWithUs(child)
  return {
    child,
    pid: child.pid ?? 0,
    exit,
    output: () => output,
    /** The first group of a pattern, once it is printed. */
    async find(pattern: RegExp): Promise<string> {
      let ended = false
      void exit.then(() => {
        ended = true
      })
      for (;;) {
        const found = pattern.exec(output)?.[1]
        if (found !== undefined) return found
        if (ended) throw new Error(`The edge ended before it printed ${pattern}:\n${output}`)
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    },
  }
}

/** A port that nobody listens on, at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** A group of its own does not end with the test runner by itself. */
function killWithUs(child: ChildProcess): void {
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended before us, as it should.
    }
  }
  process.once('exit', kill)
  child.once('close', () => process.off('exit', kill))
}
