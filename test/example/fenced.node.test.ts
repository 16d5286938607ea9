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
  return play({ url: edge.url, key: edge.key, file, session, ttl: 3, acks: acksFile(), ...options })
}

test('a harness that wakes up after another has finished is fenced, and writes nothing', async () => {
  const sleeper = start('slept', { delay: 500, holder: 'sleeper' })
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
  const sleeper = start('overtaken', { delay: 500, holder: 'sleeper' })
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

test('a harness waits for a lease that is held, and begins as soon as it is given back', async () => {
  const session = sessionOf(edge, 'shared')
  await session.ensure()
  const lease = await session.lease({ holder: 'someone', ttl: 600 })
  const player = start('shared', { delay: 0, holder: 'patient' })
  expect(await player.said('waiting for the lease: held by "someone"'), player.output()).toBe(true)
  expect((await session.get()).version).toBe(0)
  await lease.release()
  expect(await player.exit, player.output()).toBe(0)
  expect((await session.get()).version).toBe(9)
})

test('a harness that is started again when all is done has nothing to do', async () => {
  const again = start('shared', { delay: 0, holder: 'third' })
  expect(await again.exit, again.output()).toBe(0)
  expect(again.output()).not.toContain('epoch')
})
