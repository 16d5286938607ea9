import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { deleteKey, revokeToken } from '../../src/auth/admin.ts'
import type { Fleet } from '../../src/auth/fleet.ts'
import type { RevocationListener } from '../../src/auth/live-tails.ts'
import { elsewhere, env, fleetWithKey, somebody, tokenOf } from './support.ts'

beforeEach(elsewhere)

/** A fleet whose object tells a stand-in what it would tell its sessions; the first `failures` calls fail. */
async function overheard(failures = 0) {
  const { fleet, key, id: keyId } = await fleetWithKey()
  const object = env.FLEET.get(env.FLEET.idFromName(fleet))
  const told: [string, string[]][] = []
  let left = failures
  const listenerOf = (session: string): RevocationListener => ({
    async revoked(ids) {
      left -= 1
      if (left >= 0) throw new Error('asleep')
      told.push([session, ids])
    },
  })
  await runInDurableObject(object, (instance: Fleet) => {
    const SESSION = { idFromName: (name: string) => name, get: listenerOf }
    // `env` is the object's own; a test may look in.
    Object.assign(instance, { env: { ...env, SESSION } })
  })
  return { fleet, key: await somebody(key), keyId, object, told }
}

describe('a live tail', () => {
  test('is told when its token, or one above it, is revoked, and only then', async () => {
    const { fleet, key, object, told } = await overheard()
    const parent = await somebody((await tokenOf(key)).token)
    const child = await somebody((await tokenOf(parent)).token)
    const other = await somebody((await tokenOf(key)).token)
    expect(await object.tailOpened([...child.chain], 'a', child.expiresAt)).toEqual({ revoked: false })
    expect(await object.tailOpened([...child.chain], 'b', child.expiresAt)).toEqual({ revoked: false })
    expect(await object.tailOpened([...other.chain], 'c', other.expiresAt)).toEqual({ revoked: false })
    await revokeToken(env, key, parent.id)
    await vi.waitFor(() => expect(told).toHaveLength(2))
    expect(told.sort()).toEqual([
      [`${fleet}/a`, [parent.id]],
      [`${fleet}/b`, [parent.id]],
    ])
  })

  test('is told when the key above it is deleted', async () => {
    const { fleet, key, keyId, object, told } = await overheard()
    const token = await somebody((await tokenOf(key)).token)
    await object.tailOpened([...token.chain], 's', token.expiresAt)
    await object.tailOpened([...key.chain], 'k', key.expiresAt)
    await deleteKey(env, fleet, keyId)
    await vi.waitFor(() => expect(told).toHaveLength(2))
    expect(told.map(([session]) => session).sort()).toEqual([`${fleet}/k`, `${fleet}/s`])
  })

  test('of a session that does not answer is told again', async () => {
    const { fleet, key, object, told } = await overheard(1)
    const token = await somebody((await tokenOf(key)).token)
    await object.tailOpened([...token.chain], 'a', token.expiresAt)
    await revokeToken(env, key, token.id)
    const attempts = () =>
      runInDurableObject(object, (_, state) =>
        state.storage.sql
          .exec('SELECT attempts FROM notices')
          .toArray()
          .map((row) => row.attempts),
      )
    await vi.waitFor(async () => expect(await attempts()).toEqual([1]))
    await runInDurableObject(object, (_, state) => void state.storage.sql.exec('UPDATE notices SET due = 0'))
    await runDurableObjectAlarm(object)
    expect(told).toEqual([[`${fleet}/a`, [token.id]]])
    expect(await attempts()).toEqual([])
  })

  test('that opens after the revocation is refused', async () => {
    const { key, object } = await overheard()
    const parent = await somebody((await tokenOf(key)).token)
    const child = await somebody((await tokenOf(parent)).token)
    await revokeToken(env, key, parent.id)
    expect(await object.tailOpened([...child.chain], 'a', child.expiresAt)).toEqual({ revoked: true })
  })

  test('opened twice is written once', async () => {
    const { key, object } = await overheard()
    await object.tailOpened([...key.chain], 'a', null)
    await runInDurableObject(object, async (instance: Fleet, state) => {
      const written = state.storage.sql.exec('SELECT total_changes() AS n').one().n
      instance.tailOpened([...key.chain], 'a', null)
      expect(state.storage.sql.exec('SELECT total_changes() AS n').one().n).toBe(written)
    })
  })
})

describe("the fleet's object", () => {
  test('tells a view what changed since its cursor, and no more', async () => {
    const { keyId, key, object } = await overheard()
    const first = await object.sync(0)
    expect(first.keys.map(({ id }) => id)).toEqual([keyId])
    const { id } = await tokenOf(key)
    await revokeToken(env, key, id)
    const second = await object.sync(first.cursor)
    expect(second).toMatchObject({ keys: [], more: false, reset: false })
    expect(second.revoked.map((revoked) => revoked.id)).toEqual([id])
    expect(await object.sync(second.cursor)).toMatchObject({ keys: [], revoked: [], cursor: second.cursor })
  })

  test('starts a view anew whose cursor is from a time that never was', async () => {
    const { keyId, object } = await overheard()
    const answer = await object.sync(1_000)
    expect(answer).toMatchObject({ reset: true })
    expect(answer.keys.map(({ id }) => id)).toEqual([keyId])
  })

  test('hands out more changes than one answer takes, each once', async () => {
    const { object } = await overheard()
    const total = 10_005
    await runInDurableObject(object, (_, state) => {
      state.storage.sql.exec(
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
         INSERT INTO revoked (id, expires_at, seq) SELECT 'r' || i, ?, 1 + i FROM n`,
        total,
        Date.now() + 1_000_000,
      )
      state.storage.sql.exec('UPDATE fleet SET seq = ?', total + 1)
    })
    const seen = new Set<string>()
    let cursor = 0
    let more = true
    while (more) {
      const answer = await object.sync(cursor)
      for (const { id } of answer.revoked) seen.add(id)
      ;({ cursor, more } = answer)
    }
    expect(seen.size).toBe(total)
  })

  test('forgets a revocation when no token of that id can be alive', async () => {
    const { key, object } = await overheard()
    const { id } = await tokenOf(key)
    await object.revoke(id, Date.now() + 60_000)
    await evictDurableObject(object) // it looks for what to forget once a minute, and when it wakes
    await runInDurableObject(object, (instance: Fleet, state) => {
      state.storage.sql.exec('UPDATE revoked SET expires_at = 1')
      instance.sync(0)
      expect(state.storage.sql.exec('SELECT count(*) AS n FROM revoked').one().n).toBe(0)
    })
  })
})
