import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it, vi } from 'vitest'
import { createApp } from '../../src/edge/app.ts'
import { EmbeddingFailed, embedderOf } from '../../src/embed/provider.ts'
import { embedStatic, staticModel } from '../../src/embed/static.ts'
import { EmbeddingsDue } from '../../src/session/recall/embeddings-due.ts'
import { dueMark } from '../../src/session/recall/upkeep.ts'
import type { World } from '../../src/session/world.ts'
import { TestWorld } from '../support/world.ts'

function cosine(one: string, other: string): number {
  const [a, b] = [embedStatic(one), embedStatic(other)]
  if (a === null || b === null) throw new Error('no words')
  return a.reduce((sum, x, i) => sum + x * (b[i] ?? 0), 0)
}

describe('the built-in vectors', () => {
  it('are of one length, and follow from the text alone', () => {
    for (const text of [
      'a',
      'the the the',
      'Zürich 8000',
      '设备清单',
      'getUserName()',
      'x'.repeat(10_000),
      '🫖 tea',
    ]) {
      const vector = embedStatic(text)
      expect(vector?.length).toBe(staticModel.dims)
      expect(Math.hypot(...(vector ?? []))).toBeCloseTo(1, 5)
      expect(embedStatic(text)).toEqual(vector)
    }
    for (const text of ['', '   ', '***', '🫖']) expect(embedStatic(text)).toBeNull()
  })

  it('bring near what means the same in other words', () => {
    const pairs: [string, string, string][] = [
      ['the doctor prescribed some medicine', 'a physician gave out pills', 'the train leaves at noon'],
      ['our ship sailed over the ocean', 'a boat went across the sea', 'the bank raised its rates'],
      ['he plays the guitar', 'she is a musician with a violin', 'the tax form is due'],
      ['parse the config file', 'parseConfigFile()', 'what a lovely evening'],
    ]
    for (const [text, near, far] of pairs) expect(cosine(text, near), text).toBeGreaterThan(cosine(text, far))
  })

  it('know a spelling that no list of words has', () => {
    expect(cosine('qwzx-4711 flapped', 'what about qwzx?')).toBeGreaterThan(
      cosine('qwzx-4711 flapped', 'and zorbl?'),
    )
    expect(cosine('设备清单', '设备')).toBeGreaterThan(cosine('设备清单', '天气很好'))
  })
})

/** A model of two dimensions that tells vowels from the rest. */
function vowels(text: string): number[] {
  const found = text.match(/[aeiou]/g)?.length ?? 0
  return [found + 0.5, text.length - found]
}

const fake = {
  asked: [] as string[][],
  down: false,
  async run(_model: string, { text }: { text: readonly string[] }) {
    if (fake.down) throw new Error('the secret reason')
    fake.asked.push([...text])
    return { shape: [text.length, 2], data: text.map(vowels) }
  },
}

const space = { provider: 'workers-ai', model: 'vowels', dims: 2 } as const

/** The same edge and the same objects, with a binding to models. */
async function withModels(world: TestWorld, method: string, path: string, body?: object) {
  const context = { waitUntil() {}, passThroughOnException() {}, props: {} }
  const response = await createApp().fetch(
    new Request(`https://lares.test/v1/sessions/${world.name}${path}`, {
      method,
      headers: { authorization: `Bearer ${env.LARES_ROOT_KEY}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
    { ...env, AI: fake },
    // Nothing here looks at more of it.
    context as unknown as ExecutionContext,
  )
  return { status: response.status, body: JSON.parse(await response.text()) }
}

describe('a provider', () => {
  it('embeds what is remembered and what is asked, and its vectors travel with the memory', async () => {
    const world = await TestWorld.create()
    await world.ok('PUT', '/memory', space)
    await withModels(world, 'POST', '/memories', { id: 'a', text: 'aeiou aeiou' })
    await withModels(world, 'POST', '/memories', { id: 'b', text: 'rhythm crypt' })
    expect((await world.ok('GET', '/memories/a?vector=true')).vector).toEqual(vowels('aeiou aeiou'))
    expect(await world.ok('GET', '/memory')).toEqual({ ...space, memories: 2, current: 2, missing: 0 })
    const asked = await withModels(world, 'POST', '/recall', { query: 'oooo', mode: 'vector', k: 1 })
    expect(asked.body.items[0].id).toBe('a')
    await withModels(world, 'PATCH', '/memories/a', { text: 'tsk' })
    expect((await world.ok('GET', '/memories/a?vector=true')).vector).toEqual(vowels('tsk'))
  })

  it('that is down keeps nothing from being remembered; it is embedded later', async () => {
    const world = await TestWorld.create()
    await world.ok('PUT', '/memory', space)
    fake.down = true
    const added = await withModels(world, 'POST', '/memories', { id: 'a', text: 'aeiou' })
    expect(added.status).toBe(201)
    const hybrid = await withModels(world, 'POST', '/recall', { query: 'aeiou' })
    expect(hybrid.body.items[0].id).toBe('a')
    expect(hybrid.body.without).toEqual([{ half: 'vector', reason: 'Workers AI did not answer' }])
    expect((await withModels(world, 'POST', '/recall', { query: 'x', mode: 'vector' })).status).toBe(503)
    expect((await withModels(world, 'POST', '/memory/reembed')).status).toBe(503)
    fake.down = false
    await world.commit({ op: 'memory.add', id: 'b', text: 'xyz' })
    const first = await withModels(world, 'POST', '/memory/reembed', { limit: 1 })
    expect(first.body).toMatchObject({ embedded: 1, missing: 1 })
    expect((await withModels(world, 'POST', '/memory/reembed')).body).toMatchObject({
      embedded: 1,
      missing: 0,
    })
    expect((await withModels(world, 'POST', '/memory/reembed')).body).toMatchObject({
      embedded: 0,
      missing: 0,
    })
    expect((await world.ok('GET', '/memories/a')).text).toBe('aeiou')
    const [change] = (await world.ok('GET', `/commits/${first.body.version}`)).ops
    expect(change).toMatchObject({ op: 'memory.embed', ref: expect.stringMatching(/^memory:/) })
  })

  it('of another model leaves the vectors of the old one unused until they are made anew', async () => {
    const world = await TestWorld.create()
    await world.ok('PUT', '/memory', { provider: 'caller', model: 'mine', dims: 3 })
    const wrong = await world.call('POST', '/memories', { text: 'x', vector: [1, 2] })
    expect(wrong.body.detail).toMatch(/2 dimensions.*"mine" with 3/)
    await world.ok('POST', '/memories', { id: 'a', text: 'aeiou', vector: [1, 0, 0] })
    await world.ok('PUT', '/memory', space)
    expect(await world.ok('GET', '/memory')).toMatchObject({ current: 0, missing: 1 })
    expect((await world.ok('GET', '/memories/a')).model).toBe('mine')
    await withModels(world, 'POST', '/memory/reembed')
    expect((await world.ok('GET', '/memories/a')).model).toBe('vowels')
    const { version } = await world.ok('GET', '')
    // Going back in time goes back to the old model too.
    await world.ok('POST', '/revert', { to: 2 })
    expect((await world.ok('POST', '/recall', { vector: [1, 0, 0] })).items[0].id).toBe('a')
    await world.ok('POST', '/revert', { to: version })
    expect((await world.ok('POST', '/recall', { vector: [1, 0] })).items[0].id).toBe('a')
  })

  it('embeds behind the answer what lacks a vector, and asks again later when it fails', async () => {
    const world = await TestWorld.create()
    await world.commit(...['aeiou', 'xyz', 'mno'].map((text) => ({ op: 'memory.add', id: text, text })))
    const before = await world.ok('PUT', '/memory', space)
    const stub = env.SESSION.get(env.SESSION.idFromName(`default/${world.name}`))
    await runInDurableObject(stub, async (session) => {
      // What is behind the object's door, which a test may open.
      const inner = session as unknown as { world: World; indexReady(): Promise<unknown> }
      let committed = 0
      const job = new EmbeddingsDue(
        inner.world,
        { ...env, AI: fake },
        () => inner.indexReady(),
        () => committed++,
      )
      const run = async () => {
        const runs = committed
        job.start()
        for (let i = 0; committed === runs && i < 500; i++)
          await new Promise((resolve) => setTimeout(resolve, 2))
      }
      expect(job.due()).not.toBeNull()
      fake.down = true
      inner.world.setMeta(dueMark, '0')
      await run()
      expect(job.due()).toBeGreaterThan(Date.now())
      fake.down = false
      inner.world.setMeta(dueMark, '0')
      await run()
      await run()
      expect(job.due()).toBeNull()
    })
    expect(await world.ok('GET', '/memory')).toMatchObject({ current: 3, missing: 0 })
    const made = await world.ok('GET', `/commits/${before.version + 1}`)
    expect(made).toMatchObject({ actor: 'lares:embedded', cause: { embed: 'vowels' } })
    expect((await world.ok('GET', '/memories/xyz')).text).toBe('xyz')
  })

  it('needs a model and a size, and is one of those there are', async () => {
    const world = await TestWorld.create()
    for (const settings of [
      {},
      { provider: 'other' },
      { provider: 'workers-ai' },
      { ...space, dims: 0 },
      { ...space, url: 'x' },
    ])
      expect((await world.call('PUT', '/memory', settings)).status, JSON.stringify(settings)).toBe(422)
    expect((await world.call('PUT', '/memory', { provider: 'static' })).status).toBe(200)
  })

  it('over HTTP is asked as others ask it, and believed only if it answers with vectors', async () => {
    const settings = {
      ...env,
      LARES_EMBEDDINGS_URL: 'https://models.test/v1/',
      LARES_EMBEDDINGS_KEY: 'secret',
    }
    const embedder = embedderOf(settings, { provider: 'openai-compatible', model: 'm', dims: 2 })
    const answers: [unknown, number, string | number[][]][] = [
      [
        {
          data: [
            { index: 1, embedding: [3, 4] },
            { index: 0, embedding: [1, 2] },
          ],
        },
        200,
        [
          [1, 2],
          [3, 4],
        ],
      ],
      [{ data: [{ index: 0, embedding: [1, 2] }] }, 200, 'without vectors'],
      [{ data: [{ embedding: [1, 2, 3] }, { embedding: [1, 2, 3] }] }, 200, '3 dimensions.*has 2'],
      [{ data: [{ embedding: [0, 0] }, { embedding: [1, 1] }] }, 200, 'no vector'],
      [{ data: 'x' }, 200, 'without vectors'],
      [{ error: 'secret' }, 401, 'answered 401'],
      ['not json', 200, 'did not answer'],
    ]
    for (const [answer, status, expected] of answers) {
      const spy = vi
        .spyOn(globalThis, 'fetch')
        .mockImplementation(async () =>
          typeof answer === 'string' ? new Response(answer) : Response.json(answer, { status }),
        )
      try {
        const made = embedder?.embed(['a', 'b'])
        if (typeof expected === 'string') {
          const failed = await made?.catch((error: unknown) => error)
          expect(failed).toBeInstanceOf(EmbeddingFailed)
          expect(String(failed)).toMatch(new RegExp(expected))
          expect(String(failed)).not.toContain('secret')
        } else expect((await made)?.map((vector) => [...vector])).toEqual(expected)
        const [url, init] = spy.mock.calls[0] ?? []
        expect(url).toBe('https://models.test/v1/embeddings')
        expect(new Headers(init?.headers).get('authorization')).toBe('Bearer secret')
        expect(JSON.parse(String(init?.body))).toMatchObject({ model: 'm', input: ['a', 'b'] })
      } finally {
        spy.mockRestore()
      }
    }
  })
})
