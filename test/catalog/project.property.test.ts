// The outbox may send anything twice, late, cut elsewhere or out of order; the catalog must not show it.

import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { project } from '../../src/catalog/project.ts'
import { batchOf, contents, db, type History, newFleet, rowAt, type Step } from './fixtures.ts'

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ event: fc.json({ maxDepth: 1 }) }),
  fc.record({
    kind: fc.constantFrom('state', 'file'),
    key: fc.constantFrom('a', 'b', 'a"\\', 'é'),
    value: fc.option(fc.json({ maxDepth: 1 }), { nil: undefined }),
  }),
)
const history: fc.Arbitrary<History> = fc.array(fc.array(step, { maxLength: 4 }), {
  minLength: 1,
  maxLength: 12,
})
const ranges = fc.array(fc.tuple(fc.nat(11), fc.nat(11)), { maxLength: 12 })

it('any splits, repeats and orders of batches end in the tables of one pass', async () => {
  await fc.assert(
    fc.asyncProperty(history, ranges, async (versions, sent) => {
      const fleet = newFleet()
      const head = versions.length
      const row = (version: number) =>
        rowAt(version, { title: `at ${version}`, labels: { [`l${version % 3}`]: '1' } })
      await project(db, batchOf(fleet, 'once', versions, 1, head, row(head)))
      for (const [a, b] of sent) {
        const [from, to] = [Math.min(a, b) + 1, Math.max(a, b) + 1]
        if (to <= head) await project(db, batchOf(fleet, 'often', versions, from, to, row(to)))
      }
      // What an outbox does at the end: it goes on from where it is told to, until all is there.
      const last = await project(db, batchOf(fleet, 'often', versions, head, head, row(head)))
      if (!last.ok) await project(db, batchOf(fleet, 'often', versions, last.projected + 1, head, row(head)))
      expect(await contents(fleet, 'often')).toEqual(await contents(fleet, 'once'))
    }),
    { numRuns: 100 },
  )
})

it('the entries at every version are the ones of a map that plays the same history', async () => {
  await fc.assert(
    fc.asyncProperty(history, fc.nat(11), async (versions, cut) => {
      const fleet = newFleet()
      const split = Math.min(cut + 1, versions.length)
      await project(db, batchOf(fleet, 's', versions, 1, split))
      if (split < versions.length) await project(db, batchOf(fleet, 's', versions, split + 1))
      const model = new Map<string, string>()
      for (const [i, steps] of versions.entries()) {
        for (const step of steps) {
          if ('event' in step) continue
          if (step.value === undefined) model.delete(`${step.kind}:${step.key}`)
          else model.set(`${step.kind}:${step.key}`, step.value)
        }
        expect(await entriesAt(fleet, 's', i + 1)).toEqual(new Map(model))
      }
    }),
    { numRuns: 50 },
  )
})

async function entriesAt(fleet: string, session: string, version: number): Promise<Map<string, string>> {
  const { results } = await db
    .prepare(
      `SELECT kind || ':' || key AS ref, value FROM entries
       WHERE fleet = ?1 AND session = ?2 AND since <= ?3 AND (until IS NULL OR ?3 < until)`,
    )
    .bind(fleet, session, version)
    .all<{ ref: string; value: string }>()
  // As many rows as keys: an entry never has two values at once.
  const found = new Map(results.map(({ ref, value }) => [ref, value]))
  expect(found.size).toBe(results.length)
  return found
}
