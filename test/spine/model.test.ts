// Random histories over HTTP, with the object put to sleep and killed in between, against the plainest model of a world. A
// handful of runs here; LARES_TEST_RUNS raises their number.

import { abortAllDurableObjects, evictDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { problemsOf } from '../support/verify.ts'
import { bytesOf, Model, type ModelWorld, sorted } from './model.ts'
import { type Loose, newSession, type TestSession } from './support.ts'

const runs = Number(Reflect.get(env, 'TEST_RUNS') || 12)
const contents = ['one', 'another, longer']

const keys = fc.constantFrom('', 'a', 'a/b', 'ab', 'é', '\uffee', '🚀', '__proto__')
const paths = fc.constantFrom('a', 'a/b', 'a/b/c', 'a/c', 'a0', 'ab', 'b/\uffee', 'b/🚀', 'b/x', 'é')
const prefixes = fc.constantFrom('', 'a', 'a/', 'a/b', 'b/', 'é', 'zz', 'c/')
const values = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: -5, max: 5 }) },
  fc.constantFrom(null, false, '', [], {}, 0.1, 1e21, '"\\\u0000\u2028'),
  fc.jsonValue({ maxDepth: 2, stringUnit: 'grapheme' }).map((value) => JSON.parse(JSON.stringify(value))),
  fc.dictionary(fc.constantFrom('x', 'y', '__proto__'), fc.option(fc.integer())),
)
const condition = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  fc.constant({ if: { absent: true } }),
  fc.nat(6).map((version) => ({ if: { version } })),
)
const sources = fc.oneof(
  paths.map((path) => ({ path })),
  prefixes.map((prefix) => ({ prefix })),
)

function made<T extends object>(op: string, fields: fc.Arbitrary<T>): fc.Arbitrary<Loose> {
  return fields.map((rest) => ({ op, ...rest }))
}

const operation: fc.Arbitrary<Loose> = fc.oneof(
  made(
    'log.append',
    fc.record(
      {
        payload: values,
        lane: fc.constantFrom('main', 'inbox'),
        key: fc.constantFrom('k1', 'k2'),
        parent: fc.integer({ min: 1, max: 4 }),
      },
      { requiredKeys: ['payload'] },
    ),
  ),
  made(
    'state.set',
    fc.tuple(fc.record({ key: keys, value: values }), condition).map(([a, b]) => ({ ...a, ...b })),
  ),
  made('state.patch', fc.record({ key: keys, patch: values })),
  made('state.add', fc.record({ key: keys, by: fc.integer({ min: -3, max: 3 }) })),
  made(
    'state.delete',
    fc.tuple(fc.record({ key: keys }), condition).map(([a, b]) => ({ ...a, ...b })),
  ),
  made(
    'file.put',
    fc.tuple(fc.record({ path: paths, content: fc.nat(1) }), condition).map(([a, b]) => ({ ...a, ...b })),
  ),
  made('file.put', fc.record({ path: paths, content: fc.nat(1) })),
  fc.oneof(
    made(
      'file.copy',
      fc.tuple(sources, fc.record({ to: paths })).map(([a, b]) => ({ ...a, ...b })),
    ),
    made('file.copy', fc.record({ prefix: prefixes, to: prefixes })),
    made('file.move', fc.record({ path: paths, to: paths })),
    made('file.move', fc.record({ prefix: prefixes, to: prefixes })),
  ),
  made('file.delete', sources),
)

type Step = { ops: Loose[]; expect?: number } | 'evict' | 'abort'

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.array(operation, { minLength: 1, maxLength: 4 }).map((ops): Step => ({ ops })),
  },
  {
    weight: 1,
    arbitrary: fc.record({ ops: fc.array(operation, { minLength: 1, maxLength: 2 }), expect: fc.nat(8) }),
  },
  { weight: 1, arbitrary: fc.constant('evict' as const) },
  { weight: 1, arbitrary: fc.constant('abort' as const) },
)
const look = fc.record({
  prefix: prefixes,
  limit: fc.integer({ min: 1, max: 4 }),
  version: fc.nat(),
  folders: fc.boolean(),
})

it('any history reads as the model’s does, at every version, however often its object dies', {
  timeout: 600_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 16 }),
      fc.array(look, { maxLength: 6 }),
      async (steps, looks) => {
        const session = await newSession()
        const model = new Model()
        const blobs: string[] = []
        for (const content of contents) {
          const sha256 = await session.putBlob(content)
          blobs.push(sha256)
          model.blobs.set(sha256, content.length)
        }
        for (const one of steps) await take(session, model, one, blobs)
        await compareHead(session, model)
        for (let version = 0; version <= model.head; version++)
          await compareVersion(session, model.at(version), version)
        for (const one of looks) await compareListing(session, model, one)
        await compareJournal(session, model)
      },
    ),
    { numRuns: runs },
  )
})

async function take(session: TestSession, model: Model, one: Step, blobs: readonly string[]): Promise<void> {
  if (one === 'evict') {
    // Rejects when the object sleeps already.
    await evictDurableObject(session.stub()).catch(() => {})
    return
  }
  if (one === 'abort') return abortAllDurableObjects()
  const ops = one.ops.map(({ content, ...op }) =>
    content === undefined ? op : { ...op, blob: blobs[content], type: 'text/x-model' },
  )
  const answer = await session.commit(ops, one.expect === undefined ? {} : { expect: one.expect })
  const refused = model.commit(ops, one.expect)
  expect(answer.status === 201 ? null : answer.body.code, JSON.stringify([ops, answer.body])).toBe(refused)
  expect(Number(answer.headers.get('lares-version'))).toBe(model.head)
}

async function compareHead(session: TestSession, model: Model): Promise<void> {
  const { version, counts, bytes } = await session.get()
  const { state, files, events } = model.at(model.head)
  expect(version).toBe(model.head)
  expect(counts).toEqual({
    events: events.length,
    state: state.size,
    memories: 0,
    files: files.size,
    rows: 0,
  })
  const entries = [...state.values(), ...files.values()].reduce((sum, entry) => sum + entry.bytes, 0)
  expect(bytes).toBe(entries + events.reduce((sum, { payload }) => sum + bytesOf(payload), 0))
}

async function compareVersion(session: TestSession, world: ModelWorld, version: number): Promise<void> {
  expect(await session.all(`/state?at=${version}`)).toEqual(
    sorted(world.state.keys()).map((key) => {
      const { value, since } = world.state.get(key) ?? { value: undefined, since: 0 }
      return { key, value, since }
    }),
  )
  expect(await session.all(`/files?at=${version}`)).toEqual(filesOf(world))
  const log = await session.all(`/log?at=${version}`, 3)
  expect(log.map(({ at: _, actor: __, type: ___, ...event }) => event)).toEqual(world.events)
  for (const [key, entry] of world.state) {
    const answer = await session.ask('GET', `/state/${encodeURIComponent(key)}?at=${version}`)
    expect(answer.text).toBe(JSON.stringify(answer.body))
    expect([answer.body, Number(answer.headers.get('lares-since'))]).toEqual([entry.value, entry.since])
  }
}

function filesOf(world: ModelWorld): Loose[] {
  return sorted(world.files.keys()).map((path) => {
    const { value, since } = world.files.get(path) ?? { value: {}, since: 0 }
    return { path, ...value, since }
  })
}

async function compareListing(
  session: TestSession,
  model: Model,
  { prefix, limit, version, folders }: { prefix: string; limit: number; version: number; folders: boolean },
): Promise<void> {
  const at = version % (model.head + 1)
  const expected: Loose[] = []
  for (const file of filesOf(model.at(at))) {
    if (!file.path.startsWith(prefix)) continue
    const cut = folders ? file.path.indexOf('/', prefix.length) : -1
    const item = cut === -1 ? file : { prefix: file.path.slice(0, cut + 1) }
    if (JSON.stringify(expected.at(-1)) !== JSON.stringify(item)) expected.push(item)
  }
  const query = `prefix=${encodeURIComponent(prefix)}${folders ? '&delimiter=/' : ''}`
  expect(await session.all(`/files?${query}&at=${at}`, limit)).toEqual(expected)
  if (at === model.head) expect(await session.all(`/files?${query}`, limit)).toEqual(expected)
  const state = sorted(model.at(at).state.keys()).filter((key) => key.startsWith(prefix))
  const listed = await session.all(`/state?prefix=${encodeURIComponent(prefix)}&at=${at}`, limit)
  expect(listed.map(({ key }) => key)).toEqual(state)
  const seqs = model.at(at).events.map(({ seq }) => seq)
  const down = await session.all(`/log?order=desc&at=${at}`, limit)
  expect(down.map(({ seq }) => seq)).toEqual(seqs.toReversed())
  const inbox = await session.all(`/log?lane=inbox&at=${at}`, limit)
  expect(inbox.map(({ seq }) => seq)).toEqual(
    model
      .at(at)
      .events.filter(({ lane }) => lane === 'inbox')
      .map(({ seq }) => seq),
  )
}

async function compareJournal(session: TestSession, model: Model): Promise<void> {
  const listed = await session.all('/commits', 3)
  expect(listed.map(({ version }) => version)).toEqual(Array.from({ length: model.head }, (_, i) => i + 1))
  const commits = await Promise.all(listed.map(({ version }) => session.get(`/commits/${version}`)))
  for (const [i, { ops }] of commits.entries()) {
    expect(listed[i].ops).toEqual(ops.map(({ op, ref }: Loose) => ({ op, ref })))
  }
  expect(problemsOf(commits, (await session.get()).digest)).toEqual([])
}
