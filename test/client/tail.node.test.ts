// A tail outlives the edge it listens to.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Lares } from '../../src/client/index.ts'
import { type Edge, startEdge } from '../support/edge.ts'

const data = mkdtempSync(join(tmpdir(), 'lares-tail-'))
let edge: Edge
let lares: Lares

beforeAll(async () => {
  edge = await startEdge({ data })
  lares = new Lares({ url: edge.url, token: edge.key, retry: { tries: 100, pause_ms: 500 } })
})

afterAll(async () => {
  await edge.stop()
  rmSync(data, { recursive: true, force: true })
})

test('each commit is delivered once and in order, while the edge is killed again and again', async () => {
  const session = await lares.sessions.create('followed')
  const commits = 60
  const seen: number[] = []
  let reconnections = 0
  const following = (async () => {
    for await (const item of session.tail({ after: 0, onReconnect: () => reconnections++ })) {
      expect(item.event).toBe('commit')
      if (item.event === 'commit') seen.push(item.version)
      if (seen.length === commits) return
    }
  })()
  for (let n = 1; n <= commits; n++) {
    await session.log.append({ payload: n })
    if (n % 20 === 0) {
      await edge.kill9()
      edge = await startEdge({ data, key: edge.key, port: Number(new URL(edge.url).port) })
    }
  }
  await following
  expect(seen).toEqual(Array.from({ length: commits }, (_, n) => n + 1))
  expect(reconnections).toBeGreaterThan(0)
})

test('a commit comes with what it changed', async () => {
  const session = await lares.sessions.create('changes')
  const tail = session.tail({ after: 0 })
  const { digest } = await session.commit(
    (tx) => {
      tx.log.append({ type: 'note', payload: { n: 1 } })
      tx.state.set('k', null)
    },
    { message: 'm' },
  )
  expect((await tail.next()).value).toMatchObject({
    event: 'commit',
    version: 1,
    message: 'm',
    digest,
    ops: [
      { op: 'log.append', ref: 'log:1', value: { type: 'note', payload: { n: 1 } } },
      { op: 'state.set', ref: 'state:k', value: null },
    ],
  })
  await tail.return()
})

test('told no version, it begins at the one the world has, and misses nothing from there on', async () => {
  const session = await lares.sessions.create('from-now')
  await session.state.set('k', 'before')
  let known: () => void = () => undefined
  const toldHead = new Promise<void>((resolve) => {
    known = resolve
  })
  const watched = new Lares({
    url: edge.url,
    token: edge.key,
    fetch: async (input, init) => {
      const response = await fetch(input, init)
      known()
      return response
    },
  })
  const tail = watched.session('from-now').tail()
  const first = tail.next()
  await toldHead
  await session.state.set('k', 'after')
  expect((await first).value).toMatchObject({ version: 2, ops: [{ value: 'after' }] })
  await tail.return()
})

test('J2: a version the world never had is told as a gap, and what follows is delivered', async () => {
  const session = await lares.sessions.create('gap')
  await session.state.set('k', 1)
  const tail = session.tail({ after: 99 })
  expect((await tail.next()).value).toEqual({ event: 'gap', head: 1 })
  await session.state.set('k', 2)
  expect((await tail.next()).value).toMatchObject({ event: 'commit', version: 2 })
  await tail.return()
})

test('J1: the end of a session ends its tail', async () => {
  const session = await lares.sessions.create('ended')
  const tail = session.tail({ after: 0 })
  await session.state.set('k', 1)
  expect((await tail.next()).value).toMatchObject({ version: 1 })
  const rest = tail.next()
  await session.delete()
  await expect(rest).rejects.toMatchObject({ code: 'gone' })
})
