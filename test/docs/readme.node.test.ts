// What the README shows is what happens: its commands and its program, taken from its text and run against an edge.

import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type LocalEdge, startLocal } from '../../src/local/index.ts'
import { call } from '../support/http.ts'

const readme = readFileSync('README.md', 'utf8')
let edge: LocalEdge

beforeAll(async () => {
  edge = await startLocal({ key: 'readme-key', quiet: true })
})
afterAll(() => edge.close())

/** The README's only block in a language. */
function block(language: string): string {
  const found = readme.split(`\`\`\`${language}\n`)
  expect(found).toHaveLength(2)
  return found[1]?.split('```')[0] ?? ''
}

/** What a program prints; it must end well. */
async function run(command: string, args: string[]): Promise<string> {
  const env = { ...process.env, LARES_URL: edge.url, LARES_KEY: edge.key }
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect(code, errors).toBe(0)
  expect(errors).toBe('')
  return output
}

it('the ten commands do what is written beside them', async () => {
  const script = block('sh')
  expect(script.match(/^# \d+\./gm)).toHaveLength(10)
  const printed = (await run('bash', ['-euc', script])).trimEnd().split('\n')
  expect(printed).toHaveLength(11)
  const [file] = printed.splice(7, 1)
  const [made, appended, written, step, stale, first, again, lease, fenced, full] = printed.map((line) =>
    JSON.parse(line),
  )

  expect(made).toMatchObject({ session: 'demo', version: 0, counts: { events: 0, state: 0, files: 0 } })
  expect(appended).toMatchObject({ version: 1, events: [{ seq: 1 }] })
  expect(written).toMatchObject({ path: 'plan.md', type: 'text/markdown', version: 2 })
  expect(step).toMatchObject({ version: 3, results: [{ seq: 2 }, {}, { count: 1 }] })
  expect(stale).toMatchObject({ status: 412, code: 'version_mismatch', head: 3 })
  expect(first).toMatchObject({ version: 4, events: [{ seq: 3 }] })
  expect(again).toEqual(first)
  expect(file).toBe('Look at the linker first.')
  expect(lease).toMatchObject({ epoch: 1, token: expect.any(String) })
  expect(fenced).toMatchObject({ status: 409, code: 'fenced', epoch: 1 })
  expect(full).toMatchObject({
    version: 3,
    message: 'Step 1',
    previous: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  expect(full.ops).toMatchObject([
    { op: 'log.append', ref: 'log:2', value: { payload: { content: 'On it.' } } },
    { op: 'state.set', ref: 'state:cursor', value: 1 },
    { op: 'file.move', ref: 'file:done/plan.md' },
    { op: 'file.move', ref: 'file:plan.md', digest: null },
  ])

  const { body: world } = await call(edge, 'GET', '/v1/sessions/demo')
  expect(world).toMatchObject({ version: 4, counts: { events: 3, state: 1, files: 1 } })
})

it('the program runs as it stands, by the package’s own name', async () => {
  // Inside the package, so that its name means itself; dist is made anew by every build.
  mkdirSync('dist', { recursive: true })
  const path = join('dist', `readme-${process.pid}.ts`)
  writeFileSync(path, block('ts'))
  try {
    const printed = await run(process.execPath, [path])
    expect(printed).toBe('at 1 it was 1, now it is 2\nfenced by epoch 1\n')
  } finally {
    rmSync(path)
  }
  const { body } = await call(edge, 'GET', '/v1/sessions/agent-1')
  expect(body).toMatchObject({
    title: 'Fix the build',
    version: 3,
    lease: null,
    counts: { events: 2, files: 1 },
  })
})

it('every npm command it names is there', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  const named = [...readme.matchAll(/npm (?:run )?(\w+)/g)].map(([, name = '']) => name)
  expect(named).toEqual(expect.arrayContaining(['start', 'test']))
  expect(named.filter((name) => !(name in scripts) && !['install', 'pack'].includes(name))).toEqual([])
})

it('what `npm pack` packs is built first, declarations and all', () => {
  const { scripts, exports, files } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(scripts.prepack).toBe(scripts.build)
  const paths = Object.values<Record<string, string>>(exports).flatMap((one) => Object.values(one))
  expect(paths.filter((path) => !files.includes(path.split('/')[1]))).toEqual([])
})
