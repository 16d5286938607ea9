// Any interleaving of writers and sweeps, down to the single call to R2, a ledger or the session, against a plain model: what
// a world refers to, now or in its past, always reads back, and in the end nothing lies in R2 that no world needs.
//
// LARES_TEST_RUNS=10000 makes it the long run.

import { abortAllDurableObjects } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Env } from '../../src/env.ts'
import { ledgerAt, ledgerOf, objectName } from '../../src/media/hold.ts'
import { type Ask, sweepLedger } from '../../src/media/sweep.ts'
import { gated } from './gated.ts'
import { Client, freshFleet, keysOf, noise, sha256Of } from './support.ts'
import { keysHeld } from './sweep-support.ts'

const runs = Number(env.TEST_RUNS || 40)

/** Small ones ride in the object, large ones lie in R2 under their SHA-256. */
const contents: Uint8Array<ArrayBuffer>[] = [noise(50, 1), noise(33_000, 3), noise(33_001, 4)]
const paths = ['a', 'b']

type Step =
  | { do: 'put'; session: number; path: number; content: number }
  | { do: 'bring'; session: number; content: number }
  | { do: 'name'; session: number; path: number; content: number }
  | { do: 'delete'; session: number; path: number }
  | { do: 'revert'; session: number; back: number }
  | { do: 'flush'; session: number }
  | { do: 'end'; session: number }
  | { do: 'sweep' }

// Mostly one session and one content: what is rare among many is what has to be tried.
const session = fc.constantFrom(0, 0, 0, 1)
const path = fc.nat(paths.length - 1)
const content = fc.constantFrom(0, 1, 1, 1, 2)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('put' as const), session, path, content }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('bring' as const), session, content }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('name' as const), session, path, content }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), session, path }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('revert' as const), session, back: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('flush' as const), session }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('end' as const), session }) },
  { weight: 8, arbitrary: fc.constant({ do: 'sweep' as const }) },
)
/** Steps of one round run side by side. */
const rounds = fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 8 })

class Run {
  readonly clients: Client[] = []
  readonly ended = new Set<number>()
  /** When each step under way began: no sweep looks at what is younger. */
  readonly #began = new Set<{ at: number }>()
  #env: Env = env

  static async begin(): Promise<Run> {
    const run = new Run()
    const fleet = await freshFleet()
    run.clients.push(await Client.make(fleet), await Client.make(fleet))
    return run
  }

  get fleet(): string {
    return this.clients[0]?.fleet ?? ''
  }

  async round(steps: readonly Step[], scheduler: fc.Scheduler): Promise<void> {
    this.#env = gated(env, scheduler)
    await scheduler.waitFor(Promise.all(steps.map((one) => this.#step(one))))
  }

  async #step(one: Step): Promise<void> {
    if (one.do === 'sweep')
      return this.sweep(this.#env, Math.min(Date.now(), ...[...this.#began].map((b) => b.at)))
    const began = { at: Date.now() }
    this.#began.add(began)
    try {
      await this.#write(one)
    } finally {
      this.#began.delete(began)
    }
  }

  async #write(one: Exclude<Step, { do: 'sweep' }>): Promise<void> {
    const client = this.clients[one.session]
    if (client === undefined || this.ended.has(one.session)) return
    const ask = (path: string, method: string, body?: BodyInit, json = false) =>
      client.askWith(this.#env, path, {
        method,
        body: body ?? null,
        headers: json ? { 'content-type': 'application/json' } : {},
      })
    if (one.do === 'put') {
      await ask(`/files/${paths[one.path]}`, 'PUT', contents[one.content])
    } else if (one.do === 'bring') {
      const bytes = contents[one.content] ?? new Uint8Array()
      await ask(`/blobs/${await sha256Of(bytes)}`, 'PUT', bytes)
    } else if (one.do === 'name') {
      // Whether it is still held is the session's to say: either it is refused or the bytes are there.
      const blob = await sha256Of(contents[one.content] ?? '')
      const ops = [{ op: 'file.put', path: paths[one.path], blob }]
      expect([201, 422, 410]).toContain((await ask('/commits', 'POST', JSON.stringify({ ops }), true)).status)
    } else if (one.do === 'delete') {
      await ask(`/files/${paths[one.path]}`, 'DELETE')
    } else if (one.do === 'revert') {
      const shown = await client.ask('')
      if (shown.status !== 200) return
      const { version } = await shown.json<{ version: number }>()
      const to = Math.max(0, version - one.back)
      expect([201, 410]).toContain((await ask('/revert', 'POST', JSON.stringify({ to }), true)).status)
    } else if (one.do === 'flush') {
      await client.stub.flushBlobs()
    } else {
      this.ended.add(one.session)
      await client.delete()
    }
  }

  async sweep(bindings: Env, before: number): Promise<void> {
    const ask: Ask = async (name, keys, limit, act) => {
      const client = this.clients.find((one) => one.session === name)
      if (client === undefined) return 'unknown'
      const id = bindings.SESSION.idFromName(`${client.fleet}/${name}`)
      // As the edge does.
      const stub = bindings.SESSION.get(id) as unknown as Client['stub']
      const answer = await stub.unneededKeys([...keys], limit, act)
      if (answer.ok) return answer.keys
      return answer.code === 'gone' ? 'gone' : 'unknown'
    }
    const options = { before, dryRun: false, force: true, pages: 9 }
    for (const index of await this.#ledgers())
      await sweepLedger(ledgerAt(bindings, this.fleet, index), bindings.BLOBS, ask, null, options)
  }

  /** The ledgers that know anything of this fleet: asking all sixteen takes most of the time. */
  async #ledgers(): Promise<Set<number>> {
    const names = contents.map(sha256Of)
    const packs = (await keysOf(this.fleet)).filter((key) => key.includes('/packs/'))
    return new Set([...(await Promise.all(names)), ...packs.map((key) => objectName(key, ''))].map(ledgerOf))
  }

  /** Everything that a living world refers to, at every version it had, reads back as what it was. */
  async expectWhole(): Promise<void> {
    const known = new Map<string, Uint8Array>()
    for (const bytes of contents) known.set(await sha256Of(bytes), bytes)
    // A copy near by would hide that the bytes are lost.
    for (const sha256 of known.keys())
      await caches.default.delete(`https://blobs.lares.invalid/${this.fleet}/${sha256}`)
    for (const [index, client] of this.clients.entries()) {
      if (this.ended.has(index)) continue
      const { version } = await (await client.ask('')).json<{ version: number }>()
      for (let at = version; at >= 0; at--) {
        for (const path of paths) {
          const got = await client.ask(`/files/${path}?at=${at}`)
          if (got.status === 404) continue
          expect(got.status).toBe(200)
          const want = known.get(got.headers.get('lares-blob') ?? '') ?? Buffer.of()
          expect(Buffer.from(await got.arrayBuffer()).equals(want)).toBe(true)
        }
      }
    }
  }

  async expectNoStray(): Promise<void> {
    await this.sweep(env, Date.now() + 1)
    const held = new Set<string>()
    for (const [index, client] of this.clients.entries()) {
      if (!this.ended.has(index)) for (const key of await keysHeld(client)) held.add(key)
    }
    // Asking where they lie packs what was not packed yet.
    await this.sweep(env, Date.now() + 1)
    const needed = new Set<string>()
    for (const [index, client] of this.clients.entries()) {
      if (!this.ended.has(index)) for (const key of await keysHeld(client)) needed.add(key)
    }
    expect((await keysOf(this.fleet)).sort()).toEqual([...needed].sort())
  }
}

describe('writers and sweeps', () => {
  it(`interleaved at random ${runs} times lose nothing and leave nothing`, {
    timeout: 3_600_000,
  }, async () => {
    let done = 0
    await fc.assert(
      fc.asyncProperty(rounds, fc.scheduler(), async (all, scheduler) => {
        const run = await Run.begin()
        for (const steps of all) await run.round(steps, scheduler)
        await run.expectWhole()
        await run.expectNoStray()
        await run.expectWhole()
        // Each run has a fleet of its own: what a long run has done with must not keep its files open.
        if (++done % 100 === 0) await abortAllDurableObjects()
      }),
      { numRuns: runs, endOnFailure: true },
    )
  })
})
