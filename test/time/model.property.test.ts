// One model, one truth: random histories of everything that time can do to sessions, against plain data.

import { abortAllDurableObjects, evictDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { freshName, TestWorld } from '../support/world.ts'
import { type EntryKind, entryKinds, type Kind, type ModelOp, ModelSession, type Moment } from './model.ts'

/** Sequences of one run; far more in a long one. */
const runs = Number(env.TEST_RUNS || (env.CI ? 2000 : 200))

const keys = ['a', 'b', 'b/c', 'é', '😀']
const paths = ['f', 'd/f', 'd/g', 'e/😀']
const key = fc.constantFrom(...keys)
const path = fc.constantFrom(...paths)
const value = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(null, false, '', 'x', [], {}, { __proto__: 1 }),
  fc.string({ unit: 'grapheme', maxLength: 4 }),
)

const op: fc.Arbitrary<ModelOp> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ op: fc.constant('set' as const), key, value }) },
  fc.record({ op: fc.constant('delete' as const), key }),
  { weight: 2, arbitrary: fc.record({ op: fc.constant('append' as const), payload: value }) },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('put' as const),
      path,
      text: fc.constantFrom('one', 'two', 'three', ''),
    }),
  },
  fc.record({ op: fc.constant('move' as const), path, to: path }),
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('insert' as const),
      key: fc.constantFrom('r1', 'r2', 'é'),
      n: fc.nat({ max: 2 }),
    }),
  },
  fc.record({ op: fc.constant('drop' as const), n: fc.nat({ max: 2 }) }),
  fc.record({
    op: fc.constant('remember' as const),
    id: fc.constantFrom('m1', 'm2'),
    text: fc.constantFrom('likes tea', 'likes coffee'),
  }),
  fc.record({ op: fc.constant('forget' as const), id: fc.constantFrom('m1', 'm2') }),
  fc.record({ op: fc.constant('remove' as const), prefix: fc.constantFrom('d/', 'f', '') }),
)

/** A place in a history, as a part of its length, so that it shrinks with it. */
const part = fc.double({ min: 0, max: 1, noNaN: true })
const who = fc.nat({ max: 3 })
const kinds = fc.constantFrom<readonly Kind[] | null>(
  null,
  null,
  ['state'],
  ['file'],
  ['log'],
  ['state', 'log'],
)

const action = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('commit' as const),
      who,
      ops: fc.array(op, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('revert' as const), who, part, kinds }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fork' as const), who, part }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('merge' as const),
      who,
      from: who,
      strategy: fc.constantFrom('ours' as const, 'theirs' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('snapshot' as const), who, part }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('erase' as const),
      who,
      kind: fc.constantFrom<Kind>('state', 'file', 'log', 'memory'),
      nth: fc.nat({ max: 5 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('evict' as const), who }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const), who }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('retain' as const),
      who,
      versions: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), who }) },
)
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never

/** A version of a history: none before the table was defined, and none that may have been pruned. */
function place(part: number, model: ModelSession): number {
  return Math.max(model.oldest, Math.floor(part * model.version))
}

const namesOf: Record<EntryKind, readonly string[]> = {
  state: keys,
  file: paths,
  row: ['r1', 'r2', 'é'],
  memory: ['m1', 'm2'],
}

interface Pair {
  model: ModelSession
  world: TestWorld
}

const stubOf = (name: string) => env.SESSION.get(env.SESSION.idFromName(`default/${name}`))

class Run {
  readonly pairs: Pair[] = []
  /** The root of each content that was snapshotted, and the other way round. */
  readonly roots = new Map<string, string>()
  readonly contents = new Map<string, string>()
  #names = 0

  async begin(): Promise<void> {
    const world = await TestWorld.create()
    // Version 1, of which the model knows no more than that it is there; nothing goes back before it.
    await world.commit({
      op: 'table.define',
      table: 't',
      columns: { id: { type: 'string' }, n: { type: 'int' } },
      key: 'id',
    })
    const model = new ModelSession(world.name)
    model.commit([])
    this.pairs.push({ world, model })
  }

  async act(step: Action): Promise<void> {
    const pair = this.pairs[step.who % this.pairs.length]
    if (pair === undefined) return
    const { model, world } = pair
    switch (step.do) {
      case 'commit':
        return this.#commit(pair, step.ops)
      case 'revert': {
        const to = place(step.part, model)
        await world.ok('POST', '/revert', { to, ...(step.kinds === null ? {} : { kinds: step.kinds }) })
        return model.revert(to, step.kinds)
      }
      case 'fork':
        return this.#fork(pair, place(step.part, model))
      case 'merge':
        return this.#merge(pair, this.pairs[step.from % this.pairs.length], step.strategy)
      case 'snapshot':
        return this.#snapshot(pair, place(step.part, model))
      case 'erase':
        return this.#erase(pair, step.kind, step.nth)
      case 'evict':
        // One that is not running has nothing to forget.
        return evictDurableObject(stubOf(world.name)).catch(() => {})
      case 'crash':
        return abortAllDurableObjects()
      case 'retain':
        await world.ok('PATCH', '', { retention: { versions: step.versions } })
        model.keep = step.versions
        return
      case 'delete':
        if (this.pairs.length < 2) return
        await world.call('DELETE', '')
        expect((await world.call('GET', '')).status).toBe(410)
        this.pairs.splice(this.pairs.indexOf(pair), 1)
    }
  }

  async #commit({ model, world }: Pair, ops: readonly ModelOp[]): Promise<void> {
    const sent: object[] = []
    for (const one of ops) {
      if (one.op === 'put')
        sent.push({ op: 'file.put', path: one.path, blob: await upload(world, one.text), type: 'text/plain' })
      else if (one.op === 'set') sent.push({ op: 'state.set', key: one.key, value: one.value })
      else if (one.op === 'delete') sent.push({ op: 'state.delete', key: one.key })
      else if (one.op === 'append') sent.push({ op: 'log.append', payload: one.payload })
      else if (one.op === 'move') sent.push({ op: 'file.move', path: one.path, to: one.to })
      else if (one.op === 'insert')
        sent.push({ op: 'row.insert', table: 't', rows: [{ id: one.key, n: one.n }], on_conflict: 'replace' })
      else if (one.op === 'drop') sent.push({ op: 'row.delete', table: 't', where: { n: one.n } })
      else if (one.op === 'remember') sent.push({ op: 'memory.add', id: one.id, text: one.text })
      else if (one.op === 'forget') sent.push({ op: 'memory.forget', id: one.id })
      else sent.push({ op: 'file.delete', prefix: one.prefix })
    }
    const taken = model.commit(ops)
    const { status, body } = await world.call('POST', '/commits', { ops: sent })
    const refusals = [404, 409, 410]
    expect(taken ? [201] : refusals, JSON.stringify(body)).toContain(status)
    if (taken) expect(body.version).toBe(model.version)
  }

  async #fork({ model, world }: Pair, at: number): Promise<void> {
    if (this.pairs.length >= 4) return
    const session = freshName('fork')
    await world.ok('POST', '/forks', { session, at })
    this.pairs.push({ world: new TestWorld(session), model: model.fork(session, at) })
  }

  async #merge(into: Pair, from: Pair | undefined, strategy: 'ours' | 'theirs'): Promise<void> {
    if (from === undefined || from === into) return
    const base = into.model.baseOf(from.model)
    const { status, body } = await into.world.call('POST', '/merge', { from: from.world.name, strategy })
    // What the other side was at the base may be pruned; then nothing can be judged against it.
    if (status === 410 && base !== null && base < from.model.oldest) return
    const met = into.model.merge(from.model, strategy)
    expect(status, JSON.stringify(body)).toBe(met ? 201 : 422)
  }

  async #snapshot({ model, world }: Pair, at: number): Promise<void> {
    const name = `s${this.#names++}`
    const { root } = await world.ok('POST', '/snapshots', { name, at })
    model.snapshots.set(name, at)
    const content = contentOf(model, model.at(at))
    expect(this.roots.get(content) ?? root, 'equal worlds have equal roots').toBe(root)
    expect(this.contents.get(root) ?? content, 'equal roots are of equal worlds').toBe(content)
    this.roots.set(content, root)
    this.contents.set(root, content)
  }

  async #erase({ model, world }: Pair, kind: Kind, nth: number): Promise<void> {
    const among = kind === 'log' ? model.events.map((_, i) => String(i + 1)) : namesOf[kind]
    const name = among[nth % Math.max(1, among.length)]
    // A cut is no value of anyone's.
    if (name === undefined || (kind === 'log' && model.events[Number(name) - 1]?.type !== 'message')) return
    const before = model.version
    const { status, body } = await world.call('POST', '/erase', { refs: [`${kind}:${name}`] })
    // Values that only pruned versions had may be gone already.
    if (status === 404 && !model.has(kind, name)) return
    const had = model.erase(kind, name)
    expect(status, JSON.stringify(body)).toBe(had ? 200 : 404)
    // An erasure is a commit of its own wherever it reaches: the model follows the numbers.
    for (const pair of this.pairs) await catchUp(pair)
    expect(model.version).toBeGreaterThanOrEqual(before)
  }

  /** Everything, at the head and at some of the past. */
  async check(): Promise<void> {
    for (const { model, world } of this.pairs) {
      const { version, counts } = await world.ok('GET', '')
      expect(version).toBe(model.version)
      const { state, file, row, memory } = model.head.entries
      expect(counts).toMatchObject({
        events: model.head.events,
        state: state.size,
        files: file.size,
        rows: row.size,
        memories: memory.size,
      })
      for (const at of new Set([version, version - 1, version >> 1, 1])) {
        if (at < 1) continue
        const gone = at < model.oldest && (await world.call('GET', `/state?at=${at}`)).status === 410
        if (!gone) expect(await seen(world, at), `${world.name}@${at}`).toEqual(shown(model, model.at(at)))
      }
      expect(await world.ok('GET', '/verify')).toMatchObject({ ok: true, problems: [] })
    }
  }
}

async function catchUp({ model, world }: Pair): Promise<void> {
  const { version } = await world.ok('GET', '')
  while (model.version < version) model.moments.push(model.head)
  model.moments.length = version + 1
}

async function upload(world: TestWorld, text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  const sha256 = Buffer.from(digest).toString('hex')
  await world.putBlob(sha256, text)
  return sha256
}

function contentOf(model: ModelSession, { entries, events }: Moment): string {
  const log = model.events.slice(0, events).map(({ type, cell }) => [type, cell.value])
  const maps = entryKinds.map((kind) => [...entries[kind]].map(([name, cell]) => [name, cell.value]).sort())
  return JSON.stringify([...maps, log])
}

const gone = Symbol.for('erased').toString()

function shown(model: ModelSession, { entries, active }: Moment): object {
  const list = (kind: EntryKind) =>
    Object.fromEntries([...entries[kind]].map(([name, { value, erased }]) => [name, erased ? gone : value]))
  return {
    state: list('state'),
    files: list('file'),
    rows: list('row'),
    memories: list('memory'),
    log: active.map((seq) => {
      const cell = model.events[seq - 1]?.cell
      return [seq, cell?.erased ? gone : cell?.value]
    }),
  }
}

const texts = new Map<string, string>()

async function seen(world: TestWorld, at: number): Promise<object> {
  for (const text of ['one', 'two', 'three', '']) {
    if (texts.size < 4)
      texts.set(
        Buffer.from(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))).toString('hex'),
        text,
      )
  }
  const state = (await world.all(`/state?at=${at}`)).map((item) => [
    item.key,
    item.erased ? gone : item.value,
  ])
  const files = (await world.all(`/files?at=${at}`)).map((item) => [
    item.path,
    item.erased ? gone : texts.get(String(item.blob)),
  ])
  const log = (await world.all(`/log?at=${at}`)).map((item) => [item.seq, item.erased ? gone : item.payload])
  const { rows } = await world.ok('POST', '/query', { sql: 'SELECT id, n FROM t', at })
  const memories = (await world.all(`/memories?at=${at}`)).map((item) => [
    item.id,
    item.erased ? gone : item.text,
  ])
  return {
    state: Object.fromEntries(state),
    files: Object.fromEntries(files),
    rows: Object.fromEntries(rows),
    memories: Object.fromEntries(memories),
    log,
  }
}

describe('time', () => {
  it(`does to sessions what it does to plain data, in ${runs} random histories`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 14 }), async (steps) => {
        const run = new Run()
        await run.begin()
        for (const step of steps) await run.act(step)
        await run.check()
      }),
      { numRuns: runs, endOnFailure: false },
    )
  }, 1_800_000)
})
