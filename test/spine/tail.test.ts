// The live tail by all three ways in: server-sent events, WebSocket and a waiting read.

import { evictDurableObject } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ask, type Loose, mint, newSession, type TestSession } from './support.ts'

interface Told {
  event: string
  id: number
  data: Loose
}

/** A tail, whichever way it came, as a queue that ends. */
class Tail {
  readonly #told: Told[] = []
  #over: string | null = null
  #wake = () => {}
  stop = () => {}

  tell(told: Told): void {
    this.#told.push(told)
    this.#wake()
  }

  end(how: string): void {
    this.#over ??= how
    this.#wake()
  }

  /** The next event; null when the tail ends instead. */
  async next(): Promise<Told | null> {
    for (;;) {
      const told = this.#told.shift()
      if (told) return told
      if (this.#over !== null) return null
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  /** Versions up to and with `last`, in the order they came. */
  async upTo(last: number): Promise<number[]> {
    const versions: number[] = []
    while (versions.at(-1) !== last) {
      const told = await this.next()
      if (told?.event !== 'commit')
        throw new Error(`${JSON.stringify(told)} after ${versions.at(-1)}: ${this.#over}`)
      expect(told.data.version).toBe(told.id)
      versions.push(told.id)
    }
    return versions
  }

  /** Waits for the end; how it ended. */
  async ended(): Promise<string> {
    while ((await this.next()) !== null) {
      // What was still on its way.
    }
    return this.#over ?? ''
  }
}

type Open = (session: TestSession, after?: number | string, headers?: Record<string, string>) => Promise<Tail>

const overSse: Open = async (session, after, headers = {}) => {
  const response = await session.send('GET', `/tail${after === undefined ? '' : `?after=${after}`}`, {
    headers: { accept: 'text/event-stream', ...headers },
  })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  expect(response.headers.get('lares-version')).toMatch(/^\d+$/)
  const tail = new Tail()
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  tail.stop = () => void reader?.cancel()
  void (async () => {
    let text = ''
    for (;;) {
      const chunk = await reader?.read()
      if (!chunk || chunk.done) return tail.end('end of stream')
      text += chunk.value
      const messages = text.split('\n\n')
      text = messages.pop() ?? ''
      for (const message of messages) {
        const fields = new Map(
          message
            .split('\n')
            .map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]),
        )
        const data = fields.get('data')
        if (data !== undefined) {
          tail.tell({
            event: fields.get('event') ?? '',
            id: Number(fields.get('id')),
            data: JSON.parse(data),
          })
        }
      }
    }
  })().catch((error) => tail.end(String(error)))
  return tail
}

const sockets = new WeakMap<Tail, WebSocket>()

const overWebSocket: Open = async (session, after, headers = {}) => {
  const response = await session.send('GET', `/tail${after === undefined ? '' : `?after=${after}`}`, {
    headers: { upgrade: 'websocket', ...headers },
  })
  expect(response.status).toBe(101)
  const socket = response.webSocket
  if (!socket) throw new Error('no socket')
  const tail = new Tail()
  sockets.set(tail, socket)
  tail.stop = () => socket.close(1000)
  socket.addEventListener('message', ({ data }) => {
    if (data === 'pong') tail.tell({ event: 'pong', id: 0, data })
    else tail.tell(JSON.parse(String(data)))
  })
  socket.addEventListener('close', ({ code, reason }) => tail.end(`${code} ${reason}`))
  socket.accept()
  return tail
}

const ways: [string, Open][] = [
  ['server-sent events', overSse],
  ['a WebSocket', overWebSocket],
]
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)
const append = (session: TestSession, payload: unknown = 'x') =>
  session.wrote([{ op: 'log.append', payload }])

describe.each(ways)('a tail over %s', (way, open) => {
  it('gives the past and then what comes, nothing missing and nothing twice, while others write', async () => {
    const session = await newSession()
    // More than the object tells in one turn.
    for (let i = 0; i < 300; i++) await append(session, i)
    const [tail] = await Promise.all([open(session, 0), ...Array.from({ length: 20 }, () => append(session))])
    const rest = Promise.all(Array.from({ length: 20 }, () => append(session)))
    expect(await tail.upTo(340)).toEqual(upTo(340))
    await rest
    tail.stop()
  })

  it('J4 a commit exactly between the past and the live part comes once', async () => {
    const session = await newSession()
    for (let i = 0; i < 130; i++) await append(session, i)
    const opening = open(session, 0)
    const between = append(session)
    const tail = await opening
    await between
    const last = await append(session)
    expect(await tail.upTo(last)).toEqual(upTo(132))
    tail.stop()
  })

  it('begins with what comes when nothing is asked of the past', async () => {
    const session = await newSession()
    await append(session)
    const tail = await open(session)
    await append(session)
    expect(await tail.upTo(2)).toEqual([2])
    tail.stop()
  })

  it('J1 goes on after Last-Event-ID, which says more than the address', async () => {
    const session = await newSession()
    for (let i = 0; i < 5; i++) await append(session)
    const tail = await open(session, 0, { 'last-event-id': '3' })
    expect(await tail.upTo(5)).toEqual([4, 5])
    tail.stop()
  })

  it.each(['99', 'nonsense', '-1', '1.5', '9'.repeat(40), ''])(
    'J2 answers %j, from which nothing can be continued, with a gap and the head',
    async (id) => {
      const session = await newSession()
      await append(session)
      const tail = await open(session, 0, { 'last-event-id': id })
      expect(await tail.next()).toEqual({ event: 'gap', id: 1, data: { head: 1 } })
      await append(session)
      expect(await tail.upTo(2)).toEqual([2])
      tail.stop()
    },
  )

  it('shows a commit as the journal does, with its values', async () => {
    const session = await newSession()
    const tail = await open(session, 0)
    await session.commit(
      [
        { op: 'log.append', type: 'note', payload: { line: 'a\nb\u2028c\r' }, key: 'k' },
        { op: 'state.set', key: 's', value: [1] },
        { op: 'state.delete', key: 'none' },
      ],
      { message: 'm', cause: { run: 1 } },
    )
    const told = await tail.next()
    const commit = await session.get('/commits/1')
    expect(told).toMatchObject({ event: 'commit', id: 1 })
    for (const field of ['version', 'at', 'actor', 'message', 'cause', 'digest']) {
      expect(told?.data[field]).toEqual(commit[field])
    }
    expect(told?.data.ops).toEqual([
      {
        op: 'log.append',
        ref: 'log:1',
        digest: commit.ops[0].digest,
        value: { type: 'note', lane: 'main', key: 'k', payload: { line: 'a\nb\u2028c\r' } },
      },
      { op: 'state.set', ref: 'state:s', digest: commit.ops[1].digest, value: [1] },
      { op: 'state.delete', ref: 'state:none', digest: null },
    ])
    tail.stop()
  })

  it('J6 outlives its object’s sleep', async () => {
    const session = await newSession()
    await append(session)
    const tail = await open(session, 0)
    expect(await tail.upTo(1)).toEqual([1])
    for (const version of [2, 3]) {
      await evictDurableObject(session.stub())
      await append(session)
      expect(await tail.upTo(version)).toEqual([version])
    }
    tail.stop()
  })

  it('catches up also when its object is put to sleep half-way', async () => {
    const session = await newSession()
    for (let i = 0; i < 400; i++) await append(session, i)
    const tail = await open(session, 0)
    await evictDurableObject(session.stub()).catch(() => {})
    const last = await append(session)
    expect(await tail.upTo(last)).toEqual(upTo(401))
    tail.stop()
  })

  it('ends when its session is deleted', async () => {
    const session = await newSession()
    await append(session)
    const tail = await open(session, 0)
    await session.ask('DELETE')
    expect(await tail.ended()).toBe(way === 'a WebSocket' ? '4410 deleted' : 'end of stream')
    expect((await session.ask('GET', '/tail')).status).toBe(410)
  })

  it('I5 ends when its token is revoked, or one above it; and a revoked token opens none', async () => {
    const session = await newSession()
    const parent = await mint({ pattern: 's-*' }, ['read'])
    const child = await mint({ session: session.id }, ['read'], 600, parent.token)
    const tails = [await open(session.by(parent.token), 0), await open(session.by(child.token), 0)]
    const other = await open(session, 0)
    expect((await ask('DELETE', `/v1/tokens/${parent.id}`)).status).toBe(204)
    for (const tail of tails) {
      expect(await tail.ended()).toBe(way === 'a WebSocket' ? '4401 revoked' : 'end of stream')
    }
    expect((await session.by(child.token).ask('GET', '/tail')).status).toBe(401)
    await append(session)
    expect(await other.upTo(1)).toEqual([1])
    other.stop()
  })

  it('I3 is not there for who does not see the session, and forbidden to who may not read', async () => {
    const session = await newSession()
    const elsewhere = await mint({ session: 'elsewhere' }, ['read'])
    const appender = await mint({ session: session.id }, ['append'])
    const headers: Record<string, string> = way === 'a WebSocket' ? { upgrade: 'websocket' } : {}
    expect((await session.by(elsewhere.token).ask('GET', '/tail', { headers })).status).toBe(404)
    expect((await session.by(appender.token).ask('GET', '/tail', { headers })).status).toBe(403)
    expect((await session.by('').ask('GET', '/tail', { headers })).status).toBe(401)
  })

  it('takes the token in the address, for browsers, which cannot send it otherwise', async () => {
    const session = await newSession()
    const { token } = await mint({ session: session.id }, ['read'])
    const tail = await open(session.by(''), `0&access_token=${token}`)
    await append(session)
    expect(await tail.upTo(1)).toEqual([1])
    tail.stop()
  })
})

describe('a WebSocket', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('I5 is no way to write, whatever it is sent', async () => {
    const session = await newSession()
    const tail = await overWebSocket(session, 0)
    const socket = sockets.get(tail)
    const sent = [
      JSON.stringify({ ops: [{ op: 'log.append', payload: 1 }] }),
      '{',
      '',
      new Uint8Array([0, 255]),
    ]
    for (const message of sent) {
      socket?.send(message)
      expect(await tail.next()).toMatchObject({ event: 'error', data: { code: 'forbidden' } })
    }
    expect((await session.get()).version).toBe(0)
    await append(session)
    expect(await tail.upTo(1)).toEqual([1])
    tail.stop()
  })

  it('J7 answers a ping, also while its object sleeps', async () => {
    const session = await newSession()
    const tail = await overWebSocket(session)
    await evictDurableObject(session.stub())
    sockets.get(tail)?.send('ping')
    expect(await tail.next()).toMatchObject({ event: 'pong' })
    tail.stop()
  })

  it('tells nothing any more once its token has run out', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    const session = await newSession()
    const { token } = await mint({ session: session.id }, ['read'], 60)
    const tail = await overWebSocket(session.by(token), 0)
    await append(session)
    expect(await tail.upTo(1)).toEqual([1])
    vi.setSystemTime(Date.now() + 61_000)
    await append(session)
    expect(await tail.next()).toBeNull()
    expect(await tail.ended()).toBe('4401 expired')
  })
})

describe('server-sent events', () => {
  it('end when their token runs out, also when nothing comes', async () => {
    const session = await newSession()
    const { token } = await mint({ session: session.id }, ['read'], 1)
    const tail = await overSse(session.by(token), 0)
    expect(await tail.ended()).toBe('end of stream')
  })

  it('let a reader go that does not read; it comes back and misses nothing', async () => {
    const session = await newSession()
    const value = 'x'.repeat(240_000)
    const count = 60
    const response = await session.send('GET', '/tail?after=0')
    for (let i = 0; i < count; i++) await append(session, value)
    const held = await response.text()
    const seen = Array.from(held.matchAll(/^id: (\d+)$/gm), ([, id]) => Number(id))
    expect(seen.length).toBeGreaterThan(0)
    expect(seen.length).toBeLessThan(count)
    expect(seen).toEqual(upTo(seen.length))
    const tail = await overSse(session, 0, { 'last-event-id': String(seen.length) })
    expect(await tail.upTo(count)).toEqual(upTo(count).slice(seen.length))
    tail.stop()
  })
})

describe('a waiting read', () => {
  it('answers at once with what is there, and otherwise when something comes', async () => {
    const session = await newSession()
    await append(session, 1)
    expect((await session.get('/log?wait=30')).items).toHaveLength(1)
    const waiting = session.get('/log?after=1&wait=30')
    await append(session, 2)
    expect((await waiting).items).toMatchObject([{ seq: 2, payload: 2 }])
  })

  it('waits for what it filters, not for just anything', async () => {
    const session = await newSession()
    const waiting = session.ask('GET', '/log?type=wanted&lane=inbox&wait=30')
    await append(session)
    await session.ask('PUT', '/state/k', { json: 1 })
    await session.say('x', { type: 'wanted' })
    await session.say('x', { type: 'wanted', lane: 'inbox' })
    const answer = await waiting
    expect(answer.body.items).toMatchObject([{ seq: 3, lane: 'inbox' }])
    expect(answer.headers.get('lares-version')).toBe('4')
  })

  it('answers with nothing when nothing came in its time', async () => {
    const session = await newSession()
    expect(await session.get('/log?wait=1')).toEqual({ items: [], next: null })
  })

  it('outlives its object’s sleep', async () => {
    const session = await newSession()
    const waiting = session.get('/log?wait=30')
    // Until it waits: then the object holds its socket.
    await vi.waitFor(() => evictDurableObject(session.stub()))
    await append(session)
    expect((await waiting).items).toHaveLength(1)
  })

  it('learns that its session was deleted', async () => {
    const session = await newSession()
    const waiting = session.ask('GET', '/log?wait=30')
    await session.get()
    await session.ask('DELETE')
    expect((await waiting).status).toBe(410)
  })
})
