import { SignJWT } from 'jose'
import { beforeEach, describe, expect, test } from 'vitest'
import { revokeToken } from '../../src/auth/admin.ts'
import { signingKey } from '../../src/auth/secrets.ts'
import { latestExpiry, MAX_EXPIRES_IN, mint } from '../../src/auth/tokens.ts'
import { elsewhere, env, fleetWithKey, somebody, tokenOf, who } from './support.ts'

beforeEach(elsewhere)

describe('a session token', () => {
  test('is what was asked for, and no more', async () => {
    const { fleet, key, id: keyId } = await fleetWithKey()
    const { token, id, expires_at } = await tokenOf(await somebody(key), {
      session: 'run-1',
      scopes: ['read', 'files:docs'],
    })
    expect(await who(token)).toEqual({
      fleet,
      id,
      actor: `token:${id}`,
      root: false,
      sessions: 'run-1',
      scopes: ['read', 'files:docs'],
      expiresAt: expires_at,
      chain: [id, keyId],
    })
  })

  test('names one session or one pattern', async () => {
    const key = await somebody((await fleetWithKey()).key)
    const rest = { scopes: ['read'], expires_in: 60 }
    const bad = [
      {},
      { session: 'a', pattern: 'a' },
      { session: 'a*' },
      { session: '' },
      { pattern: '' },
      { pattern: 'a b' },
    ]
    for (const subject of bad) {
      expect(await mint(env, key, { ...subject, ...rest }, Date.now())).toMatchObject({
        ok: false,
        code: 'invalid',
      })
    }
  })

  test('has known scopes and a bounded life', async () => {
    const key = await somebody((await fleetWithKey()).key)
    const bad: [string[], number, string][] = [
      [[], 60, '/scopes'],
      [['read', 'everything'], 60, '/scopes/1'],
      [['files:../x'], 60, '/scopes/0'],
      [Array(65).fill('read'), 60, '/scopes'],
      [Array.from({ length: 32 }, (_, n) => `files:${n}${'x'.repeat(400)}`), 60, '/scopes'],
      [['read'], 0, '/expires_in'],
      [['read'], 1.5, '/expires_in'],
      [['read'], Number.NaN, '/expires_in'],
      [['read'], MAX_EXPIRES_IN + 1, '/expires_in'],
    ]
    for (const [scopes, expires_in, pointer] of bad) {
      const minted = await mint(env, key, { session: 'a', scopes, expires_in }, Date.now())
      expect(minted).toMatchObject({ ok: false, code: 'invalid', pointer })
    }
  })

  test('is never wider than its parent', async () => {
    const now = Date.now()
    const key = await somebody((await fleetWithKey()).key)
    const given = { pattern: 'run-*', scopes: ['read', 'files:docs'], expires_in: 600 }
    const parent = await somebody((await tokenOf(key, given, now)).token)
    const wider = [
      { session: 'other' },
      { pattern: '*' },
      { pattern: 'run*' },
      { session: 'run-1', scopes: ['write'] },
      { session: 'run-1', scopes: ['read', 'admin'] },
      { session: 'run-1', scopes: ['files:'] },
      { session: 'run-1', expires_in: 601 },
    ]
    for (const wish of wider) {
      const minted = await mint(env, parent, { scopes: ['read'], expires_in: 60, ...wish }, now)
      expect(minted).toMatchObject({ ok: false, code: 'forbidden' })
    }
    expect(await mint(env, parent, given, now)).toMatchObject({ ok: true })
  })

  test('is handed on so often and no more', async () => {
    let holder = await somebody((await fleetWithKey()).key)
    for (let depth = 1; depth < 16; depth += 1) holder = await somebody((await tokenOf(holder)).token)
    const minted = await mint(env, holder, { session: 'a', scopes: ['read'], expires_in: 60 }, Date.now())
    expect(minted).toMatchObject({ ok: false, code: 'forbidden' })
  })

  test('is nobody from the moment it expires, warm or cold', async () => {
    const { token, expires_at } = await tokenOf(await somebody((await fleetWithKey()).key))
    expect(await who(token, expires_at - 1)).not.toBeNull()
    expect(await who(token, expires_at)).toBeNull()
    elsewhere()
    expect(await who(token, expires_at)).toBeNull()
  })

  test('that was tampered with is nobody', async () => {
    const { token } = await tokenOf(await somebody((await fleetWithKey()).key), { session: 'a' })
    const [head = '', body = '', tail = ''] = token.split('.')
    const claims: Record<string, unknown> = JSON.parse(atob(body.replaceAll('-', '+').replaceAll('_', '/')))
    const wider = { ...claims, scopes: ['admin'] }
    expect(await who(`${head}.${encode(wider)}.${tail}`)).toBeNull()
    expect(await who(`${head}.${body}.${tail.slice(1)}A`)).toBeNull()
    for (const alg of ['none', 'None', 'HS512', 'RS256']) {
      for (const signature of ['', tail]) {
        expect(await who(`${encode({ alg, typ: 'JWT' })}.${encode(wider)}.${signature}`)).toBeNull()
      }
    }
  })

  test('that lacks a claim, or has one of another shape, is nobody though we signed it', async () => {
    const { fleet, key, id } = await fleetWithKey()
    const { id: jti } = await tokenOf(await somebody(key))
    const good = {
      fleet,
      sub: 'a',
      iss: 'lares',
      jti,
      scopes: ['read'],
      chain: [id],
      iat: 1,
      exp: 9_999_999_999,
    }
    expect(await who(await sign(good))).not.toBeNull()
    const bad = [
      { sub: undefined },
      { sub: '' },
      { sub: 7 },
      { exp: undefined },
      { jti: undefined },
      { jti: 'x' },
      { iss: 'other' },
      { fleet: undefined },
      { fleet: 'A' },
      { scopes: undefined },
      { scopes: [] },
      { scopes: ['read', 'everything'] },
      { chain: undefined },
      { chain: [] },
      { chain: ['root'] },
      { chain: ['root:guess'] },
    ]
    for (const claims of bad) expect(await who(await sign({ ...good, ...claims }))).toBeNull()
  })

  test("is not a token when it was signed with the key tag's secret or the bare one", async () => {
    const { fleet, key, id } = await fleetWithKey()
    const { id: jti } = await tokenOf(await somebody(key))
    const good = {
      fleet,
      sub: 'a',
      iss: 'lares',
      jti,
      scopes: ['read'],
      chain: [id],
      iat: 1,
      exp: 9_999_999_999,
    }
    expect(await who(await sign(good, signingKey(env, 'api-key')))).toBeNull()
    expect(await who(await sign(good, new TextEncoder().encode(env.LARES_SIGNING_SECRET)))).toBeNull()
  })

  test('moved to another fleet is nobody, for the key it stands on is not there', async () => {
    const a = await fleetWithKey()
    const b = await fleetWithKey()
    const { id: jti } = await tokenOf(await somebody(a.key))
    const claims = {
      sub: 'a',
      iss: 'lares',
      jti,
      scopes: ['read'],
      chain: [a.id],
      iat: 1,
      exp: 9_999_999_999,
    }
    expect(await who(await sign({ ...claims, fleet: b.fleet }))).toBeNull()
  })
})

describe('revoking', () => {
  test('a token voids it and what was minted under it, and nothing beside it', async () => {
    const key = await somebody((await fleetWithKey()).key)
    const parent = await tokenOf(key)
    const sibling = await tokenOf(key)
    const child = await tokenOf(await somebody(parent.token))
    await somebody(child.token)
    expect(await revokeToken(env, key, parent.id)).toEqual({ ok: true })
    expect(await who(parent.token)).toBeNull()
    expect(await who(child.token)).toBeNull()
    expect(await who(sibling.token)).not.toBeNull()
    elsewhere()
    expect(await who(child.token)).toBeNull()
    expect(await who(sibling.token)).not.toBeNull()
  })

  test('a token may revoke itself and no other', async () => {
    const key = await somebody((await fleetWithKey()).key)
    const one = await tokenOf(key)
    const other = await tokenOf(key)
    const holder = await somebody(one.token)
    expect(await revokeToken(env, holder, other.id)).toMatchObject({ ok: false, code: 'forbidden' })
    expect(await who(other.token)).not.toBeNull()
    expect(await revokeToken(env, holder, one.id)).toEqual({ ok: true })
    expect(await who(one.token)).toBeNull()
  })

  test('as a token takes no API key away', async () => {
    const { key, id } = await fleetWithKey()
    expect(await revokeToken(env, await somebody(key), id)).toEqual({ ok: false, code: 'not_found' })
    expect(await who(key)).not.toBeNull()
  })

  test('in one fleet does nothing in another', async () => {
    const a = await somebody((await fleetWithKey()).key)
    const b = await somebody((await fleetWithKey()).key)
    const { token, id } = await tokenOf(a)
    expect(await revokeToken(env, b, id)).toEqual({ ok: true })
    elsewhere()
    expect(await who(token)).not.toBeNull()
  })

  test('is kept as long as the longest token of that id could live', async () => {
    const now = Date.now()
    const { id, expires_at } = await tokenOf(
      await somebody((await fleetWithKey()).key),
      { expires_in: MAX_EXPIRES_IN },
      now,
    )
    expect(latestExpiry(id, now)).toBeGreaterThan(expires_at)
    expect(latestExpiry('7zzzzzzzzzzzzzzzzzzzzzzzzz', now)).toBeLessThan(now + 31 * 86_400_000)
  })
})

function encode(value: unknown): string {
  return btoa(JSON.stringify(value)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

function sign(claims: Record<string, unknown>, key = signingKey(env, 'session-token')): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(key)
}
