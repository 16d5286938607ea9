import { beforeEach, describe, expect, test } from 'vitest'
import { authenticate, remembered } from '../../src/auth/authenticate.ts'
import { FleetUnavailable } from '../../src/auth/fleet-view.ts'
import { Memory } from '../../src/auth/memory.ts'
import { elsewhere, env, fleetWithKey, somebody, tokenOf, watched, who } from './support.ts'

beforeEach(elsewhere)

/** A token, remembered and warm at `now`; revoked behind this isolate's back when told. */
async function warmToken() {
  const now = Date.now()
  const { fleet, key } = await fleetWithKey()
  const { token, id } = await tokenOf(await somebody(key, now))
  elsewhere()
  await somebody(token, now)
  const header = `Bearer ${token}`
  const object = env.FLEET.get(env.FLEET.idFromName(fleet))
  return { now, token, header, revoke: () => object.revoke(id, Date.now() + 1_000_000) }
}

describe('a warm request', () => {
  test('is answered at once, with no look-up', async () => {
    const { now, header } = await warmToken()
    expect(remembered(header, null, now + 999)).not.toBeNull()
    expect(remembered(header, 'ignored', now + 999)).not.toBeNull()
    expect(remembered(null, null, now)).toBeNull()
    expect(remembered(`${header}x`, null, now)).toBeNull()
  })

  test('after a second starts one read behind its answer, and others pass meanwhile', async () => {
    const { now, header } = await warmToken()
    const { world, lookups } = watched()
    const behind: Promise<unknown>[] = []
    const at = now + 2_000
    expect(remembered(header, null, at)).toBeNull()
    for (const _ of [1, 2, 3]) {
      expect(await authenticate(world, header, null, at, (promise) => behind.push(promise))).not.toBeNull()
      expect(remembered(header, null, at)).not.toBeNull()
    }
    expect(behind).toHaveLength(1)
    await Promise.all(behind)
    expect(lookups()).toBe(1)
    expect(remembered(header, null, at + 999)).not.toBeNull()
  })
})

describe('a revocation made elsewhere', () => {
  test('holds once the read behind an answer has come', async () => {
    const { now, header, revoke } = await warmToken()
    await revoke()
    const behind: Promise<unknown>[] = []
    expect(
      await authenticate(env, header, null, now + 5_000, (promise) => behind.push(promise)),
    ).not.toBeNull()
    await Promise.all(behind)
    expect(remembered(header, null, now + 5_001)).toBeNull()
    expect(await authenticate(env, header, null, now + 5_001)).toBeNull()
  })

  test('holds after 10 s at the latest, whatever happened behind answers', async () => {
    const { now, header, revoke } = await warmToken()
    await revoke()
    const never = () => undefined
    expect(remembered(header, null, now + 10_000)).toBeNull()
    expect(await authenticate(env, header, null, now + 10_000, never)).toBeNull()
  })
})

describe('while the fleet can not be asked', () => {
  test('what was known within five minutes goes on, and then it is 503 and not 401', async () => {
    const { now, token, header } = await warmToken()
    const { world, down, lookups } = watched()
    down(true)
    expect(await who(token, now + 60_000, null, world)).not.toBeNull()
    const asked = lookups()
    expect(await who(token, now + 60_500, null, world)).not.toBeNull()
    expect(lookups()).toBe(asked)
    await expect(authenticate(world, header, null, now + 300_000)).rejects.toThrow(FleetUnavailable)
    down(false)
    expect(await authenticate(world, header, null, now + 300_001)).not.toBeNull()
  })

  test('what is known to be revoked stays revoked', async () => {
    const { now, token, revoke } = await warmToken()
    await revoke()
    expect(await who(token, now + 20_000)).toBeNull()
    const { world, down } = watched()
    down(true)
    expect(await who(token, now + 60_000, null, world)).toBeNull()
  })
})

describe('the memory of credentials', () => {
  test('is bounded and keeps what is used', () => {
    const memory = new Memory<number>(100)
    for (let n = 0; n < 10_000; n += 1) {
      memory.set(`k${n}`, n)
      expect(memory.get('k0')).toBe(0)
      expect(memory.size).toBeLessThanOrEqual(101)
    }
    expect(memory.get('k1')).toBeUndefined()
    memory.delete('k0')
    expect(memory.get('k0')).toBeUndefined()
  })
})
