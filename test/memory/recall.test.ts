import { describe, expect, it } from 'vitest'
import { TestWorld } from '../support/world.ts'

const ids = (items: { id: string }[]) => items.map(({ id }) => id)

async function remembering(texts: Record<string, string>): Promise<TestWorld> {
  const world = await TestWorld.create()
  await world.commit(...Object.entries(texts).map(([id, text]) => ({ op: 'memory.add', id, text })))
  return world
}

const recall = async (world: TestWorld, body: object) => (await world.ok('POST', '/recall', body)).items
const byText = async (world: TestWorld, query: string, more: object = {}) =>
  ids(await recall(world, { query, mode: 'text', ...more }))

describe('recall by words', () => {
  it('H1 takes any text as text and never as syntax', async () => {
    const texts = {
      edit: 'the pre-edit hook',
      say: 'he wrote: say "hi" twice',
      and: 'foo AND bar OR NOT baz NEAR(x y)',
      val: 'key:val pairs',
      star: 'a * star',
      paren: '(x marks the spot',
      dont: "don't panic",
    }
    const world = await remembering(texts)
    const asked: [string, string][] = [
      ['pre-edit', 'edit'],
      ['say "hi', 'say'],
      ['foo AND', 'and'],
      ['key:val', 'val'],
      ['*', 'star'],
      ['(x', 'paren'],
      ["don't", 'dont'],
      ['"', 'say'],
      ['NEAR(', 'and'],
    ]
    for (const [query, id] of asked) expect(await byText(world, query), query).toContain(id)
    for (const query of [
      '',
      '   ',
      '""',
      'col:',
      '^',
      '-',
      'a AND OR',
      '{x y}:z',
      '\u0000',
      "'; DROP TABLE memory_docs; --",
    ]) {
      for (const mode of ['text', 'hybrid']) {
        const answer = await world.call('POST', '/recall', { query, mode })
        expect(answer.status, query).toBe(200)
      }
    }
    expect((await world.all('/memories')).length).toBe(7)
  })

  it('H2 finds words of scripts without spaces', async () => {
    const world = await remembering({
      list: '设备清单 NAS 重跑gen-itgc后',
      jp: '東京タワーへ行きました',
      ko: '회의록을 정리했다',
      th: 'สวัสดีครับ',
      en: 'a device list',
    })
    for (const query of ['设备', '清单', 'NAS', 'nas', 'itgc', '重跑', '后'])
      expect(await byText(world, query), query).toContain('list')
    expect(await byText(world, 'タワー')).toEqual(['jp'])
    expect(await byText(world, '東京')).toEqual(['jp'])
    expect(await byText(world, '회의')).toEqual(['ko'])
    expect(await byText(world, 'สวัสดี')).toEqual(['th'])
  })

  it('finds identifiers by their parts and by their whole, and words by a part', async () => {
    const world = await remembering({
      camel: 'call getUserName2 before HTTPServer starts',
      snake: 'set MAX_RETRY_COUNT=3',
      path: 'see src/session/transaction.ts',
      long: 'reconfiguration of the warehouse',
      accent: 'Café Ünïcode naïve',
    })
    const asked: [string, string][] = [
      ['user name', 'camel'],
      ['getusername', 'camel'],
      ['getUserName2', 'camel'],
      ['HTTPServer', 'camel'],
      ['server', 'camel'],
      ['retry', 'snake'],
      ['max_retry_count', 'snake'],
      ['MAXRETRYCOUNT', 'snake'],
      ['transaction.ts', 'path'],
      ['transac', 'path'],
      ['figuration', 'long'],
      ['ware', 'long'],
      ['cafe', 'accent'],
      ['UNICODE', 'accent'],
    ]
    for (const [query, id] of asked) expect((await byText(world, query))[0], query).toBe(id)
  })

  it('C3 finds words after a NUL, and of any length', async () => {
    const world = await remembering({ nul: 'before\u0000after', long: `${'x'.repeat(60_000)} needle` })
    expect(await byText(world, 'after')).toEqual(['nul'])
    expect(await byText(world, 'needle')).toEqual(['long'])
    expect(await byText(world, 'x'.repeat(5000))).toEqual(['long'])
  })

  it('ranks what has more of the question, and rarer words, before the rest', async () => {
    const world = await remembering({
      both: 'the invoice for the printer',
      one: 'the printer is broken',
      none: 'the weather is fine',
      exact: 'print',
    })
    expect(await byText(world, 'printer invoice')).toEqual(['both', 'one'])
    expect((await byText(world, 'print'))[0]).toBe('exact')
    const items = await recall(world, { query: 'printer invoice', mode: 'text' })
    for (const { score, why } of items) {
      expect(score).toBeGreaterThan(0)
      expect(why).toEqual({ text: score, vector: null })
    }
  })

  it('H10 follows insertion, edit, deletion and return: old words find nothing', async () => {
    const world = await remembering({ a: 'alpha', b: 'beta' })
    await world.ok('PATCH', '/memories/a', { text: 'gamma' })
    expect(await byText(world, 'alpha')).toEqual([])
    expect(await byText(world, 'gamma')).toEqual(['a'])
    await world.ok('DELETE', '/memories/a')
    expect(await byText(world, 'gamma')).toEqual([])
    await world.ok('POST', '/memories', { id: 'a', text: 'delta' })
    expect(await byText(world, 'gamma delta')).toEqual(['a'])
    // All in one commit.
    await world.commit(
      { op: 'memory.update', id: 'a', text: 'epsilon' },
      { op: 'memory.forget', id: 'a' },
      { op: 'memory.add', id: 'a', text: 'zeta' },
      { op: 'memory.add', id: 'c', text: 'theta' },
      { op: 'memory.forget', id: 'c' },
    )
    expect(await byText(world, 'alpha gamma delta epsilon theta')).toEqual([])
    expect(await byText(world, 'zeta')).toEqual(['a'])
    // A commit that is refused leaves the index as it was.
    const refused = await world.call('POST', '/commits', {
      ops: [
        { op: 'memory.update', id: 'a', text: 'never' },
        { op: 'memory.add', id: 'b', text: 'taken' },
      ],
    })
    expect(refused.body.code).toBe('exists')
    expect(await byText(world, 'never')).toEqual([])
    expect(await byText(world, 'zeta')).toEqual(['a'])
  })
})

describe('recall by vector', () => {
  it('H7 recalls what was stored, in any number of dimensions', async () => {
    for (const dims of [1, 3, 5, 384, 1536]) {
      const world = await TestWorld.create()
      const axis = (n: number) => Array.from({ length: dims }, (_, i) => (i === n % dims ? 1 : 0.01))
      await world.commit(
        ...[0, 1, 2].map((n) => ({ op: 'memory.add', id: `m${n}`, text: `note ${n}`, vector: axis(n) })),
      )
      const [first] = await recall(world, { vector: axis(1), k: 1 })
      expect(first.score).toBeCloseTo(1, 5)
      if (dims > 2) expect(first.id).toBe('m1')
      expect(first.why).toEqual({ text: null, vector: first.score })
    }
  })

  it('H8 refuses vectors that have no direction, and answers with finite scores alone', async () => {
    const world = await TestWorld.create()
    for (const vector of [
      [0, 0, 0],
      [null, 1, 0],
      ['NaN', 1, 0],
      [1e300, 1, 0],
      [1e-300, 0, 0],
    ]) {
      const answer = await world.call('POST', '/memories', { text: 'x', vector })
      expect(answer.status, JSON.stringify(vector)).toBe(422)
      expect(answer.body.pointer).toMatch(/^\/vector/)
      expect((await world.call('POST', '/recall', { vector })).status).toBe(422)
    }
    await world.commit(
      { op: 'memory.add', id: 'huge', text: 'x', vector: [3e38, 3e38, 3e38] },
      { op: 'memory.add', id: 'tiny', text: 'y', vector: [1e-40, 0, 0] },
    )
    const items = await recall(world, { vector: [1, 1, 1] })
    expect(ids(items)).toEqual(['huge', 'tiny'])
    expect(items[0].score).toBeCloseTo(1, 5)
    for (const { score } of items) expect(Number.isFinite(score)).toBe(true)
  })

  it('names both when dimensions differ, and lets them change when no other vector is left', async () => {
    const world = await TestWorld.create()
    await world.ok('POST', '/memories', { id: 'a', text: 'x', vector: [1, 0, 0] })
    const wrong = await world.call('POST', '/memories', { text: 'y', vector: [1, 0] })
    expect(wrong.body).toMatchObject({ code: 'invalid', pointer: '/ops/0/vector' })
    expect(wrong.body.detail).toMatch(/2 dimensions.*"caller" with 3/)
    const asked = await world.call('POST', '/recall', { vector: [1, 0] })
    expect(asked.body).toMatchObject({ code: 'invalid', pointer: '/vector' })
    const both = await world.call('POST', '/commits', {
      ops: [
        { op: 'memory.forget', id: 'a' },
        { op: 'memory.add', text: 'p', vector: [1, 2] },
        { op: 'memory.add', text: 'q', vector: [1, 2, 3, 4] },
      ],
    })
    expect(both.status).toBe(422)
    await world.ok('DELETE', '/memories/a')
    await world.ok('POST', '/memories', { id: 'b', text: 'y', vector: [0, 1] })
    expect(ids(await recall(world, { vector: [0, 1] }))).toEqual(['b'])
  })

  it('H5 applies the filter before the nearest k', async () => {
    const world = await TestWorld.create()
    const near = (i: number) => [1, (i % 100) / 1000, (i % 7) / 1000]
    for (let i = 0; i < 10_000; i += 1000) {
      await world.commit(
        ...Array.from({ length: 1000 }, (_, j) => ({
          op: 'memory.add',
          text: `near ${i + j}`,
          meta: { user: 'A' },
          vector: near(i + j),
        })),
      )
    }
    await world.commit(
      ...[1, 2, 3].map((n) => ({
        op: 'memory.add',
        id: `b${n}`,
        text: `near ${n}`,
        tags: ['b'],
        meta: { user: 'B' },
        vector: [n / 10, 1, 1],
      })),
    )
    const question = { vector: [1, 0, 0], query: 'near', k: 3 }
    for (const mode of ['vector', 'text', 'hybrid']) {
      const filtered = await recall(world, { ...question, mode, filter: { '/meta/user': 'B' } })
      expect(ids(filtered).sort(), mode).toEqual(['b1', 'b2', 'b3'])
      expect(ids(await recall(world, { ...question, mode, tags: ['b'] })).sort()).toEqual(['b1', 'b2', 'b3'])
      expect(await recall(world, { ...question, mode, filter: { '/meta/user': 'C' } })).toEqual([])
    }
    expect(ids(await recall(world, { ...question, mode: 'vector', filter: { '/meta/user': 'B' } }))).toEqual([
      'b3',
      'b2',
      'b1',
    ])
    const all = await recall(world, { ...question, mode: 'vector' })
    expect(all.every(({ meta }: { meta: { user: string } }) => meta.user === 'A')).toBe(true)
  })

  it('follows what is written between two recalls', async () => {
    const world = await TestWorld.create()
    await world.ok('POST', '/memories', { id: 'a', text: 'x', vector: [1, 0] })
    expect(ids(await recall(world, { vector: [1, 0] }))).toEqual(['a'])
    await world.ok('POST', '/memories', { id: 'b', text: 'x', vector: [1, 0.1] })
    await world.ok('PATCH', '/memories/a', { vector: [0, 1] })
    expect(ids(await recall(world, { vector: [1, 0] }))).toEqual(['b', 'a'])
    await world.ok('DELETE', '/memories/b')
    expect(ids(await recall(world, { vector: [1, 0] }))).toEqual(['a'])
    // A text that is changed without its vector has none: it was of the old text.
    await world.ok('PATCH', '/memories/a', { text: 'another' })
    expect(ids(await recall(world, { vector: [1, 0] }))).toEqual([])
    await world.ok('PATCH', '/memories/a', { vector: [1, 1] })
    expect((await recall(world, { vector: [1, 0] }))[0].score).toBeCloseTo(Math.SQRT1_2, 5)
  })
})

describe('recall by both', () => {
  it('finds by meaning with the built-in vectors, with no network', async () => {
    const world = await remembering({
      vet: 'took the dog to the veterinarian',
      car: 'the engine of the vehicle needs oil',
      tax: 'paid the income tax for last year',
      code: 'refactored parseConfig in the loader',
    })
    const [first] = await recall(world, { query: 'my puppy saw an animal doctor' })
    expect(first.id).toBe('vet')
    expect(first.why.text === null || first.why.vector !== null).toBe(true)
    expect((await recall(world, { query: 'automobile repair' }))[0].id).toBe('car')
    expect((await recall(world, { query: 'money owed to the government', mode: 'vector' }))[0].id).toBe('tax')
  })

  it('puts first what both halves find, and says why', async () => {
    const world = await TestWorld.create()
    await world.commit(
      { op: 'memory.add', id: 'both', text: 'blue whale', vector: [1, 0.2] },
      { op: 'memory.add', id: 'words', text: 'blue whale song', vector: [-1, 0.1] },
      { op: 'memory.add', id: 'near', text: 'other', vector: [1, 0] },
    )
    const answer = await world.ok('POST', '/recall', { query: 'blue whale', vector: [1, 0.1] })
    expect(answer.mode).toBe('hybrid')
    expect(answer.items[0].id).toBe('both')
    const why = Object.fromEntries(answer.items.map((i: { id: string; why: object }) => [i.id, i.why]))
    expect(why.both).toEqual({ text: expect.any(Number), vector: expect.any(Number) })
    expect(why.near).toEqual({ text: null, vector: expect.any(Number) })
    expect(answer.without).toBeUndefined()
  })

  it('reports a half that it had to do without', async () => {
    const world = await TestWorld.create()
    await world.ok('POST', '/memories', { id: 'a', text: 'alpha', vector: [1, 0] })
    const answer = await world.ok('POST', '/recall', { query: 'alpha' })
    expect(ids(answer.items)).toEqual(['a'])
    expect(answer.without).toEqual([{ half: 'vector', reason: expect.stringContaining('caller') }])
    expect((await world.call('POST', '/recall', { query: 'alpha', mode: 'vector' })).status).toBe(422)
  })

  it('refuses a question that is none', async () => {
    const world = await TestWorld.create()
    const cases: [object, string][] = [
      [{}, '/query'],
      [{ vector: [1], mode: 'text' }, '/query'],
      [{ query: 'x', k: 0 }, '/k'],
      [{ query: 'x', k: 1e9 }, '/k'],
      [{ query: 'x', mode: 'best' }, '/mode'],
      [{ query: 'x', filter: [] }, '/filter'],
      [{ query: 'x'.repeat(20_000) }, '/query'],
      [{ query: 'x', where: {} }, '/where'],
    ]
    for (const [body, pointer] of cases) {
      const answer = await world.call('POST', '/recall', body)
      expect([answer.status, answer.body.pointer], JSON.stringify(body).slice(0, 60)).toEqual([422, pointer])
    }
    expect((await world.call('POST', '/recall', { query: 'x', at: 99 })).body.code).toBe('no_such_version')
  })
})
