// What a person meets at `npm start`: what it prints, and what it says when it cannot start.

import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort, runLocal, startEdge, TEST_KEY } from '../support/edge.ts'

let data: string
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'lares-test-'))
})
afterEach(() => rmSync(data, { recursive: true, force: true }))

describe('a start', () => {
  it('says where it serves, shows a new key once, and gives three commands that hold the key', async () => {
    const port = await freePort()
    const first = await startEdge({ data, key: null, port })
    expect(first.url).toBe(`http://127.0.0.1:${port}`)
    expect(first.output().split('\n')[0]).toBe(`Lares is ready at http://127.0.0.1:${port}`)
    expect(first.output()).toContain(`http://127.0.0.1:${port}/docs\n`)
    const curls = first.output().match(/^ *curl .*$/gm) ?? []
    expect(curls).toHaveLength(3)
    for (const curl of curls) expect(curl).toContain(`Authorization: Bearer ${first.key}`)
    await first.stop()

    const second = await startEdge({ data, key: null, port })
    expect(second.key).toBe(first.key)
    expect(second.output()).not.toContain(first.key)
    await second.stop()
  })

  it('keeps its secrets to the owner', async () => {
    await (await startEdge({ data })).stop()
    const path = join(data, 'secrets.json')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readFileSync(path, 'utf8')).not.toContain(TEST_KEY)
  })

  it('answers health checks without a key', async () => {
    const edge = await startEdge({ data })
    expect((await fetch(`${edge.url}/healthz`)).status).toBe(200)
    await edge.stop()
  })

  it('prints nothing for a request', async () => {
    const edge = await startEdge({ data })
    const before = edge.output()
    await fetch(`${edge.url}/healthz`)
    await fetch(`${edge.url}/v1/sessions/none`)
    expect(edge.output()).toBe(before)
    await edge.stop()
  })
})

describe('a stop', () => {
  it('is orderly however often it is asked for', async () => {
    const edge = await startEdge({ data })
    for (const signal of ['SIGINT', 'SIGINT', 'SIGTERM'] as const) process.kill(edge.pid, signal)
    expect(await edge.stop()).toBe(0)
    expect(existsSync(join(data, 'lock'))).toBe(false)
  })
})

describe('a start that cannot be', () => {
  it('says that the port is taken', async () => {
    const server = createServer()
    const port = await listen(server)
    const run = runLocal(['--data', data, '--port', String(port)])
    expect(await run.exit).toBe(1)
    expect(run.output()).toMatch(`Port ${port} on 127.0.0.1 is taken`)
    expect(run.output()).not.toMatch(/ {4}at /)
    expect(existsSync(join(data, 'lock'))).toBe(false)
    server.close()
  })

  it('says that the data folder is served already, and leaves that edge alone', async () => {
    const edge = await startEdge({ data })
    const run = runLocal(['--data', data, '--port', '0'])
    expect(await run.exit).toBe(1)
    expect(run.output()).toMatch(/Another edge \(process \d+\) serves/)
    expect((await fetch(`${edge.url}/healthz`)).status).toBe(200)
    await edge.stop()
  })

  it.each([
    [['--prot', '8787'], /Unknown option '--prot'/],
    [['--port', 'http'], /--port takes 0 to 65535/],
    [['--port', '65536'], /--port takes 0 to 65535/],
    [['--key', 'two words'], /--key takes printable ASCII/],
    [['serve'], /Unexpected argument 'serve'/],
  ])('says what is wrong with %j', async (args, message) => {
    const run = runLocal([...args, '--data', data])
    expect(await run.exit).toBe(1)
    expect(run.output()).toMatch(message)
    expect(run.output()).not.toMatch(/ {4}at /)
  })

  it('never replaces secrets that it cannot read', async () => {
    const path = join(data, 'secrets.json')
    writeFileSync(path, '{"digest_secret": "abc')
    const run = runLocal(['--data', data, '--port', '0'])
    expect(await run.exit).toBe(1)
    expect(run.output()).toMatch(/secrets\.json is damaged/)
    expect(readFileSync(path, 'utf8')).toBe('{"digest_secret": "abc')
  })
})

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
}
