// A harness that was away for too long: its lease has passed to another, and it must not write a thing.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Edge, startEdge } from '../support/edge.ts'
import { acksFile, type Player, play } from './player.ts'
import { readWorld, sessionOf } from './world.ts'

const file = 'examples/durable-agent/runs/hello.traj.json'
let edge: Edge

beforeAll(async () => {
  edge = await startEdge()
})

afterAll(async () => {
  await edge.stop()
})

function start(session: string, options: { delay: number; holder: string }): Player {
  return play({ url: edge.url, key: edge.key, file, session, ttl: 1, acks: acksFile(), ...options })
}

test('a harness that wakes up after another has finished is fenced, and writes nothing', async () => {
  const sleeper = start('slept', { delay: 300, holder: 'sleeper' })
  expect(await sleeper.said('step 2/'), sleeper.output()).toBe(true)
  sleeper.signal('SIGSTOP')

  const successor = start('slept', { delay: 0, holder: 'successor' })
  expect(await successor.exit, successor.output()).toBe(0)
  const session = sessionOf(edge, 'slept')
  const before = await readWorld(session)
  const told = await session.get()

  sleeper.signal('SIGCONT')
  expect(await sleeper.exit, sleeper.output()).toBe(3)
  expect(sleeper.output()).toContain('fenced: another harness has taken over slept; stopping')
  expect(await readWorld(session)).toEqual(before)
  expect((await session.get()).digest).toBe(told.digest)
})

test('a harness that wakes up while another holds the lease is fenced, and does not disturb it', async () => {
  const sleeper = start('overtaken', { delay: 300, holder: 'sleeper' })
  expect(await sleeper.said('step 2/'), sleeper.output()).toBe(true)
  sleeper.signal('SIGSTOP')

  const successor = start('overtaken', { delay: 250, holder: 'successor' })
  expect(await successor.said('step 4/'), successor.output()).toBe(true)
  sleeper.signal('SIGCONT')
  expect(await sleeper.exit, sleeper.output()).toBe(3)
  expect(await successor.exit, successor.output()).toBe(0)
  const world = await readWorld(sessionOf(edge, 'overtaken'))
  expect(world.version).toBe(9)
  expect(world.log).toHaveLength(27)
})

test('a second harness waits for a lease that is held, and finds the work done', async () => {
  const first = start('shared', { delay: 100, holder: 'first' })
  expect(await first.said('step 1/'), first.output()).toBe(true)
  const second = start('shared', { delay: 0, holder: 'second' })
  expect(await second.said('waiting for the lease: held by "first"'), second.output()).toBe(true)
  expect(await first.exit, first.output()).toBe(0)
  expect(await second.exit, second.output()).toBe(0)
  expect(second.output()).not.toContain('step 1/')
  expect((await readWorld(sessionOf(edge, 'shared'))).version).toBe(9)
})

test('a harness that is started again when all is done has nothing to do', async () => {
  const again = start('shared', { delay: 0, holder: 'third' })
  expect(await again.exit, again.output()).toBe(0)
  expect(again.output()).not.toContain('epoch')
})
