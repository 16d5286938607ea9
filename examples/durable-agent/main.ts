// The command line of the durable agent. Kill it whenever you like, start it again anywhere: it goes on.

import { appendFileSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { Lares, NetworkError } from '../../src/client/index.ts'
import { live, type StepDone } from './harness.ts'
import { readRun } from './run.ts'

const usage = `Plays a recorded agent run in a session, one commit a step, and survives being killed.

  --session ID    the session to live in (default: hello)
  --run FILE      a .traj.json file (default: the small one that comes along)
  --url URL       the edge (default: LARES_URL, or http://127.0.0.1:8787)
  --token KEY     an API key or session token (default: LARES_KEY)
  --holder NAME   who holds the lease (default: harness-PID)
  --ttl S         seconds the lease outlives its holder (default: 10)
  --delay MS      pause before each step, as if a model were thinking (default: 0)
  --acks FILE     append a JSON line for every acknowledged step

Ends with 0 when the run is done, 3 when another harness has taken over (nothing more is written),
2 when it was called wrongly, 1 for anything else.`

const exit = { done: 0, failed: 1, usage: 2, fenced: 3 } as const

class UsageError extends Error {}

process.exitCode = await main().catch((error: unknown) => {
  if (error instanceof UsageError) {
    console.error(`${error.message}\n\n${usage}`)
    return exit.usage
  }
  console.error(error instanceof NetworkError ? `The edge is out of reach. ${error.message}` : error)
  return exit.failed
})

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2))
  if (options === null) {
    console.log(usage)
    return exit.done
  }
  const { acks, file, token, url, ...rest } = options
  const ending = await live({
    ...rest,
    run: readRunFile(file),
    // Outlives an edge that is being restarted.
    lares: new Lares({
      url,
      token,
      retry: { tries: 1000, total_ms: 120_000, try_ms: 10_000, pause_ms: 1_000 },
    }),
    onNote: (note) => console.log(note),
    onStep: (step) => {
      console.log(line(step))
      if (acks !== undefined)
        appendFileSync(acks, `${JSON.stringify({ step: step.step, version: step.version })}\n`)
    },
  })
  console.log(
    ending === 'done'
      ? `done: ${rest.session}`
      : `fenced: another harness has taken over ${rest.session}; stopping`,
  )
  return exit[ending]
}

function line({ step, of, version, tool, touched }: StepDone): string {
  return [`step ${step}/${of}`, `version ${version}`, tool, ...touched].join('  ')
}

function readOptions(args: string[]) {
  const values = parse(args)
  if (values.help) return null
  const token = values.token ?? process.env.LARES_KEY
  if (token === undefined) throw new UsageError('There is no key: give --token, or set LARES_KEY.')
  return {
    session: values.session ?? 'hello',
    file: values.run ?? join(import.meta.dirname, 'runs', 'hello.traj.json'),
    url: values.url ?? process.env.LARES_URL ?? 'http://127.0.0.1:8787',
    token,
    holder: values.holder ?? `harness-${process.pid}`,
    ttl: whole('ttl', values.ttl ?? '10', 1, 3600),
    delay: whole('delay', values.delay ?? '0', 0, 3_600_000),
    acks: values.acks,
  }
}

function parse(args: string[]) {
  const text = { type: 'string' } as const
  const options = {
    session: text,
    run: text,
    url: text,
    token: text,
    holder: text,
    ttl: text,
    delay: text,
    acks: text,
  }
  try {
    return parseArgs({ args, options: { ...options, help: { type: 'boolean', short: 'h' } } }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function whole(name: string, text: string, least: number, most: number): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= least && value <= most) return value
  throw new UsageError(`--${name} is a whole number from ${least} to ${most}.`)
}

function readRunFile(file: string) {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`The run cannot be read: ${error instanceof Error ? error.message : error}`)
  }
  return readRun(basename(file).replace(/\.traj\.json$/, ''), text)
}
