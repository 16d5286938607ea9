// The local edge is two processes, and either may die alone.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Edge, freePort, startEdge } from '../support/edge.ts'

describe('a crash of one process', () => {
  let data: string
  let edge: Edge
  beforeEach(() => {
    data = mkdtempSync(join(tmpdir(), 'lares-test-'))
  })
  afterEach(async () => {
    await edge.stop()
    rmSync(data, { recursive: true, force: true })
  })

  it('of Node takes workerd along, so that port and data are free', async () => {
    const port = await freePort()
    edge = await startEdge({ data, port })
    process.kill(edge.pid, 'SIGKILL')
    await expect.poll(() => serves(edge), { timeout: 10_000 }).toBe(false)
    edge = await startEdge({ data, port })
    expect(await serves(edge)).toBe(true)
  })

  it('of Node does not stop a start that follows at once', async () => {
    const port = await freePort()
    edge = await startEdge({ data, port })
    process.kill(edge.pid, 'SIGKILL')
    edge = await startEdge({ data, port })
    expect(await serves(edge)).toBe(true)
  })

  it('of workerd is mended without a restart, and the new one is noted', async () => {
    edge = await startEdge({ data })
    const [before] = runtimes(data)
    process.kill(before ?? 0, 'SIGKILL')
    await expect.poll(() => runtimes(data)[0] !== before && serves(edge), { timeout: 20_000 }).toBe(true)
  })

  it('long ago, whose process number somebody else has now, does not stop a start', async () => {
    const lock = JSON.stringify({ holder: { pid: process.pid, born: 'another life' }, runtimes: [] })
    writeFileSync(join(data, 'lock'), lock)
    edge = await startEdge({ data })
    expect(await serves(edge)).toBe(true)
  })
})

async function serves(edge: Edge): Promise<boolean> {
  try {
    return (await fetch(`${edge.url}/healthz`)).ok
  } catch {
    return false
  }
}

function runtimes(data: string): number[] {
  const lock: { runtimes: { pid: number }[] } = JSON.parse(readFileSync(join(data, 'lock'), 'utf8'))
  return lock.runtimes.map((runtime) => runtime.pid)
}
