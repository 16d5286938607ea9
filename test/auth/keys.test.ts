import { runInDurableObject } from 'cloudflare:test'
import { beforeEach, describe, expect, test } from 'vitest'
import { createFleet, createKey, deleteKey } from '../../src/auth/admin.ts'
import { authenticate, remembered } from '../../src/auth/authenticate.ts'
import { hasTables } from '../../src/auth/fleet-schema.ts'
import { fleetExists } from '../../src/auth/fleet-view.ts'
import { newKey, readKey } from '../../src/auth/keys.ts'
import { elsewhere, env, fleetWithKey, freshName, keyOf, somebody, tokenOf, watched, who } from './support.ts'

beforeEach(elsewhere)

describe('an API key', () => {
  test('is its fleet, with every session and scope', async () => {
    const { fleet, key, id } = await fleetWithKey()
    expect(await who(key)).toEqual({
      fleet,
      id,
      actor: `key:${id}`,
      root: false,
      sessions: '*',
      scopes: ['admin'],
      expiresAt: null,
      chain: [id],
    })
  })

  test('that is forged in any one character is refused with no look-up', async () => {
    const { key } = await fleetWithKey()
    const { world, lookups } = watched()
    for (let at = 0; at < key.length; at += 1) {
      const forged = `${key.slice(0, at)}${key[at] === 'b' ? 'c' : 'b'}${key.slice(at + 1)}`
      expect(await who(forged, Date.now(), null, world)).toBeNull()
    }
    for (const cut of [key.slice(0, -1), `${key}A`, key.toUpperCase(), `${key}=`, 'lares_', 'lares_a_b']) {
      expect(await who(cut, Date.now(), null, world)).toBeNull()
    }
    expect(lookups()).toBe(0)
  })

  test('whose secret holds an underscore is read as it was made', () => {
    let made = newKey(env, 'a-fleet', Date.now())
    while (made.key.split('_').length < 5) made = newKey(env, 'a-fleet', Date.now())
    expect(readKey(env, made.key)).toEqual({ fleet: 'a-fleet', id: made.id, hash: made.hash })
  })

  test('of another signing secret is nobody', async () => {
    const { fleet } = await fleetWithKey()
    const foreign = newKey({ ...env, LARES_SIGNING_SECRET: 'another secret altogether' }, fleet, Date.now())
    expect(await who(foreign.key)).toBeNull()
  })

  test('that was signed here but never added to the fleet is nobody', async () => {
    const { fleet } = await fleetWithKey()
    expect(await who(newKey(env, fleet, Date.now()).key)).toBeNull()
  })

  test('is not kept where it could be read again', async () => {
    const { fleet, key } = await fleetWithKey()
    const secret = key.slice(key.lastIndexOf('_', key.length - 65) + 1)
    const stored = await runInDurableObject(env.FLEET.get(env.FLEET.idFromName(fleet)), (_, state) =>
      JSON.stringify(state.storage.sql.exec('SELECT * FROM keys').toArray()),
    )
    expect(secret.length).toBeGreaterThanOrEqual(20)
    expect(stored).not.toContain(key)
    expect(stored).not.toContain(secret)
  })

  test('made elsewhere a moment ago is known at its first use', async () => {
    const { fleet, key } = await fleetWithKey()
    await somebody(key)
    const { key: younger } = await keyOf(fleet)
    expect((await who(younger))?.fleet).toBe(fleet)
  })

  test('is nobody at once where it was deleted, and so is all that it minted', async () => {
    const { fleet, key, id } = await fleetWithKey()
    const { token } = await tokenOf(await somebody(key))
    const { token: grandchild } = await tokenOf(await somebody(token))
    await somebody(grandchild)
    expect(await deleteKey(env, fleet, id)).toEqual({ ok: true })
    for (const credential of [key, token, grandchild]) {
      expect(remembered(`Bearer ${credential}`, null, Date.now())).toBeNull()
      expect(await who(credential)).toBeNull()
    }
    elsewhere()
    for (const credential of [grandchild, token, key]) expect(await who(credential)).toBeNull()
    expect(await deleteKey(env, fleet, id)).toEqual({ ok: false, code: 'not_found' })
  })

  test('of one fleet opens and deletes nothing in another', async () => {
    const a = await fleetWithKey()
    const b = await fleetWithKey()
    expect((await who(a.key, Date.now(), b.fleet))?.fleet).toBe(a.fleet)
    expect(await deleteKey(env, b.fleet, a.id)).toEqual({ ok: false, code: 'not_found' })
    expect((await who(b.key))?.fleet).toBe(b.fleet)
    expect((await who(a.key))?.fleet).toBe(a.fleet)
  })
})

describe('the root key', () => {
  test('is root in the fleet it names, warm or cold', async () => {
    const root = env.LARES_ROOT_KEY
    for (const _ of ['cold', 'warm']) {
      expect(await who(root)).toMatchObject({
        fleet: 'default',
        root: true,
        actor: 'root',
        scopes: ['admin'],
      })
      expect(await who(root, Date.now(), 'other')).toMatchObject({ fleet: 'other', root: true })
      for (const bad of ['', 'No', 'a_b', '-a', 'a'.repeat(64), 'a/b']) {
        expect(await who(root, Date.now(), bad)).toBeNull()
      }
    }
  })

  test('is matched whole, and is nothing when there is none', async () => {
    for (const near of [env.LARES_ROOT_KEY.slice(0, -1), `${env.LARES_ROOT_KEY}x`, '', ' ']) {
      expect(await who(near)).toBeNull()
    }
    const { LARES_ROOT_KEY: _, ...without } = env
    // An operator may forget the variable, whatever the type says.
    const world = { ...without, LARES_ROOT_KEY: undefined as unknown as string }
    for (const guess of ['undefined', '', 'null'])
      expect(await who(guess, Date.now(), null, world)).toBeNull()
  })

  test('when replaced takes the tokens it minted with it', async () => {
    const { token } = await tokenOf(await somebody(env.LARES_ROOT_KEY))
    expect(await somebody(token)).toMatchObject({ fleet: 'default', root: false })
    elsewhere()
    expect(await who(token, Date.now(), null, { ...env, LARES_ROOT_KEY: 'the next one' })).toBeNull()
  })
})

describe('a fleet', () => {
  test('is created once, and the name is checked', async () => {
    const name = freshName()
    expect(await createFleet(env, name)).toEqual({ ok: true, created: true })
    expect(await createFleet(env, name)).toEqual({ ok: true, created: false })
    for (const bad of ['', 'A', 'a_b', '-', 'ü', 'a'.repeat(64)]) {
      expect(await createFleet(env, bad)).toMatchObject({ ok: false, code: 'invalid' })
    }
  })

  test('that was never created has no keys, and asking leaves nothing behind', async () => {
    const name = freshName()
    expect(await createKey(env, name, null)).toEqual({ ok: false, code: 'not_found' })
    expect(await who(newKey(env, name, Date.now()).key)).toBeNull()
    expect(await fleetExists(env, name, Date.now())).toBe(false)
    const stub = env.FLEET.get(env.FLEET.idFromName(name))
    expect(await stub.describe()).toBeNull()
    expect(await runInDurableObject(stub, (_, state) => hasTables(state.storage.sql))).toBe(false)
    await createFleet(env, name)
    expect(await fleetExists(env, name, Date.now())).toBe(true)
  })

  test('default is there without being created', async () => {
    expect(await fleetExists(env, 'default', Date.now())).toBe(true)
    const { key } = await keyOf('default')
    expect((await who(key))?.fleet).toBe('default')
  })

  test('describes its keys and shows no hash', async () => {
    const { fleet, id } = await fleetWithKey()
    const described = await env.FLEET.get(env.FLEET.idFromName(fleet)).describe()
    expect(described).toMatchObject({ name: fleet, keys: [{ id, label: 'test' }] })
    expect(JSON.stringify(described)).not.toContain('hash')
  })

  test('that is cold answers eight first uses at once alike', async () => {
    const { fleet, key } = await fleetWithKey()
    elsewhere()
    const now = Date.now()
    const found = await Promise.all(
      Array.from({ length: 8 }, () => authenticate(env, `Bearer ${key}`, null, now)),
    )
    expect(found.map((principal) => principal?.fleet)).toEqual(Array(8).fill(fleet))
  })
})
