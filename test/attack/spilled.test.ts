// Values that moved to R2 though they are small, because their commit would not have fitted into one call.

import { expect, it } from 'vitest'
import { archiveOf, importInto } from '../archive/support.ts'
import { freshName, TestWorld } from '../support/world.ts'

it('small values that lie in R2 come back after a journey in an archive, and in a diff of two sessions', async () => {
  const world = await TestWorld.create()
  const value = (n: number) => `${n}\u4e00${'x'.repeat(100_000)}`
  const ops = Array.from({ length: 170 }, (_, n) => ({ op: 'state.set', key: `k${n}`, value: value(n) }))
  await world.commit(...ops)
  expect(await world.ok('GET', '/state/k7')).toBe(value(7))
  const name = freshName()
  expect((await importInto(name, await archiveOf(world, '?journal=true'))).status).toBe(201)
  const copy = new TestWorld(name)
  expect(await copy.ok('GET', '/state/k7')).toBe(value(7))
  expect(await copy.ok('GET', '/state/k9?at=1')).toBe(value(9))
  expect(await copy.ok('GET', '/verify')).toMatchObject({ ok: true })
  const other = await TestWorld.create()
  const seen = (await copy.all(`/diff?with=${other.name}&limit=1000`)).map(({ ref, before }) => [ref, before])
  expect(seen).toHaveLength(170)
  expect(seen).toContainEqual(['state:k7', value(7)])
})
