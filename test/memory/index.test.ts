// The index against the entries it follows from, whatever was done: by operations, reverts, forks and merges, in any order.

import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { wordsOf } from '../../src/session/recall/words.ts'
import { expectOk, freshName, request, TestWorld } from '../support/world.ts'

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const text = fc.constantFrom('alpha beta', 'beta gammaDelta', '设备清单', 'x', 'alpha\u0000omega', '***')
const vector = fc.constantFrom([1, 0], [0, 1], [0.5, -2])

type Step =
  | { do: 'commit'; ops: object[] }
  | { do: 'revert'; share: number }
  | { do: 'fork' }
  | { do: 'merge' }

const op = fc.oneof(
  { weight: 4, arbitrary: fc.record({ op: fc.constant('memory.add'), id, text }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('memory.add'), id, text, vector }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('memory.update'), id, text }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('memory.update'), id, tags: fc.constant(['t']) }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('memory.forget'), id }) },
)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('commit' as const),
      ops: fc.array(op, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('revert' as const),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'fork' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'merge' as const }) },
)

it('H10 the index says what the entries say, after any history', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
      let world = await TestWorld.create(freshName('index'))
      let parent: TestWorld | null = null
      for (const one of steps) {
        if (one.do === 'commit') await world.call('POST', '/commits', { ops: one.ops })
        else if (one.do === 'revert') {
          const { version } = await world.ok('GET', '')
          await world.ok('POST', '/revert', { to: Math.floor(version * one.share) })
        } else if (one.do === 'fork') {
          parent = world
          world = new TestWorld((await world.ok('POST', '/forks', {})).session)
        } else if (parent !== null) {
          await parent.ok('POST', '/merge', { from: world.name, strategy: 'theirs' })
          world = parent
          parent = null
        }
      }
      await agrees(world)
    }),
    { numRuns: 25 },
  )
})

type Doc = { key: string; text: string; digest: string; tokens: number | null }

async function agrees(world: TestWorld): Promise<void> {
  // Asked once, so that a fork has its rows and its index.
  await expectOk(request('POST', `/v1/sessions/${world.name}/recall`, { query: 'alpha' }))
  await runInDurableObject(
    env.SESSION.get(env.SESSION.idFromName(`default/${world.name}`)),
    (_s, { storage }) => {
      const { sql } = storage
      const entries = sql
        .exec<{ key: string; text: string; digest: string }>(
          `SELECT key, json(value) AS text, hex(substr(digest, 1, 16)) AS digest FROM entries WHERE kind = 'memory' ORDER BY key`,
        )
        .toArray()
      const docs = sql
        .exec<Doc>('SELECT key, hex(digest) AS digest FROM memory_docs WHERE key IS NOT NULL ORDER BY key')
        .toArray()
      expect(docs).toEqual(entries.map(({ key, digest }) => ({ key, digest })))
      const counted = sql.exec<{ n: number }>('SELECT count(*) AS n FROM memory_words').one().n
      expect(counted).toBe(entries.length)
      sql.exec("INSERT INTO memory_words (memory_words) VALUES ('integrity-check')")
      const expected = new Map<string, number>()
      for (const entry of entries)
        for (const word of new Set(wordsOf(JSON.parse(entry.text).text)))
          expected.set(word, (expected.get(word) ?? 0) + 1)
      const vocabulary = sql.exec<{ term: string; doc: number }>('SELECT term, doc FROM memory_vocabulary')
      expect(new Map(vocabulary.toArray().map(({ term, doc }) => [term, doc]))).toEqual(expected)
    },
  )
}
