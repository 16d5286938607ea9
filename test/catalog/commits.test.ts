import { describe, expect, it } from 'vitest'
import { type FleetCommitQuery, listFleetCommits } from '../../src/catalog/commits.ts'
import { project } from '../../src/catalog/project.ts'
import { removeSession } from '../../src/catalog/remove.ts'
import { counting } from './counting.ts'
import { batchOf, db, everything, type History, newFleet, rowAt, seeing } from './fixtures.ts'

const appends = (count: number): History => Array.from({ length: count }, () => [{ event: '1' }])

async function list(fleet: string, query: Partial<FleetCommitQuery> = {}) {
  const page = await listFleetCommits(db, fleet, { limit: 100, visible: everything, ...query })
  if (!page.ok) throw new Error(page.code)
  return page
}

async function walk(fleet: string, query: Partial<FleetCommitQuery>): Promise<string[]> {
  const seen: string[] = []
  let after: string | null = null
  do {
    const page = await list(fleet, { ...query, after })
    seen.push(...page.items.map((item) => `${item.session}@${item.version}`))
    // A walk that stands still must fail, not hang.
    if (page.next !== null) expect(page.next).not.toBe(after)
    after = page.next
  } while (after !== null)
  return seen
}

describe('the commits of a fleet', () => {
  it('are whole items', async () => {
    const fleet = newFleet()
    const batch = batchOf(fleet, 's', [[{ kind: 'state', key: 'plan', value: '1' }]])
    const commits = batch.commits.map((commit) => ({ ...commit, message: 'why', cause: '{"run":"r1"}' }))
    await project(db, { ...batch, commits })
    expect(await list(fleet)).toEqual({
      ok: true,
      next: null,
      items: [
        {
          session: 's',
          version: 1,
          projected_version: 1,
          at: '1970-01-01T00:00:01.001Z',
          actor: 'me',
          message: 'why',
          cause: { run: 'r1' },
          digest: 'commit-1',
          ops: [{ op: 'op', ref: 'plan' }],
        },
      ],
    })
  })

  it('come by time, then session, then version, once each, on pages of any size', async () => {
    const fleet = newFleet()
    for (const session of ['b', 'a', 'c']) await project(db, batchOf(fleet, session, appends(9)))
    const expected = Array.from({ length: 9 }, (_, i) => ['a', 'b', 'c'].map((s) => `${s}@${i + 1}`)).flat()
    for (const limit of [1, 2, 13, 26, 27, 28]) expect(await walk(fleet, { limit })).toEqual(expected)
  })

  it('of one moment keep the order of their versions', async () => {
    const fleet = newFleet()
    const batch = batchOf(fleet, 's', appends(205))
    await project(db, { ...batch, commits: batch.commits.map((commit) => ({ ...commit, at: 1000 })) })
    expect(await walk(fleet, { limit: 10 })).toEqual(Array.from({ length: 205 }, (_, i) => `s@${i + 1}`))
  })

  it('are those the caller may see, of sessions that are there, of its fleet', async () => {
    const [fleet, other] = [newFleet(), newFleet()]
    for (const session of ['acme-1', 'acme-2', 'beta']) await project(db, batchOf(fleet, session, appends(2)))
    await project(db, batchOf(other, 'acme-3', appends(2)))
    await project(db, batchOf(fleet, 'acme-expired', appends(1), 1, 1, rowAt(1, { expires_at: 2000 })))
    expect(await walk(fleet, { visible: seeing('acme*'), limit: 1 })).toEqual([
      'acme-1@1',
      'acme-2@1',
      'acme-1@2',
      'acme-2@2',
    ])
    expect(await walk(fleet, { visible: seeing('beta'), limit: 1 })).toEqual(['beta@1', 'beta@2'])
    await removeSession(db, fleet, 'acme-1', 0)
    expect(await walk(fleet, { visible: seeing('acme*') })).toEqual(['acme-2@1', 'acme-2@2'])
  })

  it('fill a page no further than its bytes, and still come whole and once', async () => {
    const fleet = newFleet()
    const batch = batchOf(fleet, 's', appends(200))
    const ops = JSON.stringify(
      Array.from({ length: 700 }, (_, i) => ({ op: 'state.set', ref: `state:${'k'.repeat(60)}${i}` })),
    )
    for (const part of [batch.commits.slice(0, 100), batch.commits.slice(100)]) {
      const [from = 0, to = 0] = [part.at(0)?.version, part.at(-1)?.version]
      const events = batch.events.filter((event) => event.version >= from && event.version <= to)
      await project(db, { ...batch, from, to, events, commits: part.map((commit) => ({ ...commit, ops })) })
    }
    const first = await list(fleet, { limit: 1000 })
    expect(first.items.length).toBeLessThan(200)
    expect(first.items[0]?.ops_more).toBe(true)
    expect(first.items[0]?.ops.length).toBeLessThan(700)
    expect(first.next).not.toBeNull()
    expect(await walk(fleet, { limit: 1000 })).toEqual(Array.from({ length: 200 }, (_, i) => `s@${i + 1}`))
  })

  it('on a page in the middle cost what the page costs', async () => {
    const fleet = newFleet()
    for (const session of ['a', 'b']) await project(db, batchOf(fleet, session, appends(1500)))
    const counted = counting(db)
    const page = await listFleetCommits(counted.db, fleet, {
      after: '1700/700/a',
      limit: 10,
      visible: everything,
    })
    expect(page).toMatchObject({ ok: true, items: { length: 10 } })
    // The place in the index, the commit, and its session.
    expect(counted.rowsRead()).toBeGreaterThan(0)
    expect(counted.rowsRead()).toBeLessThanOrEqual(3 * 11 + 2)
  })

  it('after a position that no page gave: an answer, not a fault', async () => {
    for (const after of ['', 'x', '1/2', '1/x/s', '-1/1/s']) {
      const query = { after, limit: 1, visible: everything }
      expect(await listFleetCommits(db, newFleet(), query)).toEqual({ ok: false, code: 'bad_position' })
    }
  })
})
