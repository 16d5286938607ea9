import { describe, expect, test, vi } from 'vitest'
import { Lares, LaresError, NetworkError } from '../../src/client/index.ts'
import { Attempts, backoff, defaultRetry, isTransient, sleep } from '../../src/client/retry.ts'
import { chunks, fake, json, problem, refused } from './fake.ts'

const committed = { version: 1, at: '2026-12-01T00:00:00.000Z', digest: '00', results: [{}] }

describe('a write that gets no answer', () => {
  test('is sent again with the same idempotency key and the same body, until it is answered', async () => {
    const { lares, asked } = fake([refused(), refused(), json(committed, 201)])
    const answer = await lares.session('s').state.set('k', [1, null])
    expect(answer.version).toBe(1)
    expect(asked).toHaveLength(3)
    const keys = asked.map((one) => one.headers.get('idempotency-key'))
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
    expect(new Set(keys).size).toBe(1)
    expect(new Set(asked.map((one) => one.text)).size).toBe(1)
  })

  test('has another key on every call, or the one its caller gives', async () => {
    const { lares, asked } = fake([json(committed), json(committed), json(committed)])
    const { state } = lares.session('s')
    await state.set('k', 1)
    await state.set('k', 1)
    await state.set('k', 1, { idempotency_key: 'mine' })
    const keys = asked.map((one) => one.headers.get('idempotency-key'))
    expect(new Set(keys).size).toBe(3)
    expect(keys[2]).toBe('mine')
  })

  test('ends as a NetworkError that counts its tries and keeps the cause', async () => {
    const { lares } = fake([refused(), refused(), refused()], { tries: 3, first_ms: 0.1 })
    const error = await lares
      .session('s')
      .state.set('k', 1)
      .catch((e: unknown) => e)
    expect(error).toBeInstanceOf(NetworkError)
    expect(error).toMatchObject({ tries: 3, cause: new TypeError('fetch failed') })
  })

  test('says what lies below the failure, which alone tells a wrong address from an edge that is not there', async () => {
    const below = new Error('connect ECONNREFUSED 127.0.0.1:8787')
    const several = Object.assign(new AggregateError([below]), { code: 'ECONNREFUSED' })
    for (const cause of [below, several]) {
      const { lares } = fake([new TypeError('fetch failed', { cause })], { tries: 1 })
      await expect(lares.session('s').get()).rejects.toThrow(/fetch failed: .*ECONNREFUSED/)
    }
  })
})

describe('an answer', () => {
  test.each([429, 502, 503, 504, 522])('of %i is asked for again', async (status) => {
    const { lares, asked } = fake([new Response('busy', { status }), json({ version: 4 })])
    expect(await lares.session('s').get()).toEqual({ version: 4 })
    expect(asked).toHaveLength(2)
  })

  test.each([400, 401, 403, 404, 409, 410, 412, 413, 422, 500])('of %i is final', async (status) => {
    const { lares, asked } = fake([problem(status, 'some_code')])
    await expect(lares.session('s').get()).rejects.toMatchObject({
      name: 'LaresError',
      status,
      code: 'some_code',
    })
    expect(asked).toHaveLength(1)
  })

  test('of in_flight is waited for: it is the first try that is still at work', async () => {
    const { lares, asked } = fake([refused(), problem(409, 'in_flight'), json(committed, 201)])
    await lares.session('s').state.set('k', 1)
    expect(asked).toHaveLength(3)
  })

  test('that is cut off in its middle is asked for again', async () => {
    const cut = new Response(chunks(['{"version":'], 'fail'))
    const { lares } = fake([cut, json({ version: 4 })])
    expect(await lares.session('s').get()).toEqual({ version: 4 })
  })

  test('that asks for more time than is left ends the call at once', async () => {
    const { lares, asked } = fake([problem(429, 'quota_exceeded', {}, { 'retry-after': '3600' })])
    await expect(lares.session('s').get()).rejects.toMatchObject({
      code: 'quota_exceeded',
      retry_after: 3600,
    })
    expect(asked).toHaveLength(1)
  })

  test('that does not come in time counts as none', async () => {
    const never = (_: unknown, signal?: AbortSignal) =>
      new Promise<Response>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    const { lares, asked } = fake([never, json({ version: 4 })], { try_ms: 5, first_ms: 1 })
    expect(await lares.session('s').get()).toEqual({ version: 4 })
    expect(asked).toHaveLength(2)
  })
})

test('Retry-After is honoured, in seconds', async () => {
  vi.useFakeTimers()
  try {
    const attempts = new Attempts(defaultRetry)
    const busy = new LaresError({ status: 503, code: 'unavailable', retry_after: 7 })
    let over = false
    const pause = attempts.pause(busy).then(() => {
      over = true
    })
    await vi.advanceTimersByTimeAsync(6_999)
    expect(over).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    await pause
    expect(over).toBe(true)
  } finally {
    vi.useRealTimers()
  }
})

test('pauses double, up to a limit, and half of each is chance', () => {
  const policy = { first_ms: 100, pause_ms: 1_000 }
  const least = [1, 2, 3, 4, 5, 6].map((tries) => backoff(tries, policy, () => 0))
  const most = [1, 2, 3, 4, 5, 6].map((tries) => backoff(tries, policy, () => 1))
  expect(least).toEqual([50, 100, 200, 400, 500, 500])
  expect(most).toEqual([100, 200, 400, 800, 1000, 1000])
})

test('a call that is aborted ends with the reason, also between two tries', async () => {
  const controller = new AbortController()
  const { lares, asked } = fake([refused()], { first_ms: 10_000, pause_ms: 10_000 })
  const call = lares.session('s').get({ signal: controller.signal })
  setTimeout(() => controller.abort(new Error('enough')), 5)
  await expect(call).rejects.toThrow('enough')
  expect(asked).toHaveLength(1)
})

test('sleeping ends early when its signal aborts', async () => {
  const stopped = AbortSignal.abort(new Error('stop'))
  await expect(sleep(60_000, stopped)).rejects.toThrow('stop')
})

test('a token may be made anew for every try', async () => {
  const used: (string | null)[] = []
  let n = 0
  const lares = new Lares({
    url: 'https://edge.test',
    token: async () => `token-${++n}`,
    retry: { first_ms: 0.1 },
    fetch: async (input, init) => {
      used.push(new Request(input, init).headers.get('authorization'))
      return used.length === 1 ? new Response('', { status: 503 }) : json({ version: 0 })
    },
  })
  await lares.session('s').get()
  expect(used).toEqual(['Bearer token-1', 'Bearer token-2'])
})

test('a fault of the program is not a failure of the network', () => {
  expect(isTransient(new TypeError('x is not a function'))).toBe(false)
})
