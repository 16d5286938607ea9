// The example's command line, when it is called in other ways than it should be.

import { spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startLocal } from '../../src/local/index.ts'

function run(args: string[], env: NodeJS.ProcessEnv = {}): Promise<{ code: number | null; output: string }> {
  const { LARES_KEY: _, LARES_URL: __, ...rest } = process.env
  const child = spawn(process.execPath, ['examples/durable-agent/main.ts', ...args], {
    env: { ...rest, ...env },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
}

test.each([
  ['no key', [], 'There is no key'],
  ['no such run', ['--token', 'k', '--run', 'nowhere.traj.json'], 'The run cannot be read'],
  ['an option that is none', ['--token', 'k', '--sesion', 's'], '--sesion'],
  ['a lease of no length', ['--token', 'k', '--ttl', '0'], '--ttl is a whole number from 1 to 3600'],
])('called with %s, it says so and how to call it, and ends with 2', async (_, args, said) => {
  const { code, output } = await run(args)
  expect(code).toBe(2)
  expect(output).toContain(said)
  expect(output).toContain('--session ID')
})

test('asked for help, it helps', async () => {
  expect(await run(['--help'])).toMatchObject({ code: 0, output: expect.stringContaining('--acks FILE') })
})

test('it takes edge and key from the environment, tells each step in a line, and refuses to mix two runs', async () => {
  const edge = await startLocal()
  try {
    const env = { LARES_URL: edge.url, LARES_KEY: edge.key }
    const first = await run(['--holder', 'me'], env)
    expect(first.code, first.output).toBe(0)
    expect(first.output.trim().split('\n')).toEqual([
      'holding the lease, epoch 1',
      'step 1/9  version 1  ls',
      'step 2/9  version 2  create  +work/home/agent/hello/greet.py',
      'step 3/9  version 3  edit  +work/home/agent/hello/greet.py',
      'step 4/9  version 4  python',
      'step 5/9  version 5  edit',
      'step 6/9  version 6  edit  +work/home/agent/hello/greet.py',
      'step 7/9  version 7  cat  +work/home/agent/hello/test.sh',
      'step 8/9  version 8  rm  -work/home/agent/hello/test.sh',
      'step 9/9  version 9  submit',
      'done: hello',
    ])
    const other = join(mkdtempSync(join(tmpdir(), 'lares-run-')), 'other.traj.json')
    writeFileSync(other, JSON.stringify({ trajectory: [{ action: 'ls' }] }))
    const second = await run(['--run', other], env)
    expect(second.code).toBe(1)
    expect(second.output).toContain('the session hello plays the run hello; give another session')
  } finally {
    await edge.close()
  }
})
