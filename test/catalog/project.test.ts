import { describe, expect, it } from 'vitest'
import type { Projected } from '../../src/catalog/batch.ts'
import { project, projectSession } from '../../src/catalog/project.ts'
import { counting } from './counting.ts'
import { batchOf, contents, db, type History, newFleet, rowAt } from './fixtures.ts'

const set = (key: string, value: string) => ({ kind: 'state', key, value })
const take = (key: string) => ({ kind: 'state', key, value: undefined })

const history: History = [
  [{ event: '{"text":"hello"}' }],
  [set('plan', '1'), { event: 'null' }],
  [set('plan', '2')],
  [take('plan')],
  [set('plan', '3'), set('cursor', '0')],
]

describe('a batch', () => {
  it('brings commits, events and entries with their past', async () => {
    const fleet = newFleet()
    expect(await project(db, batchOf(fleet, 's', history))).toEqual({ ok: true, projected: 5 })
    const found = await contents(fleet, 's')
    expect(found.commits).toHaveLength(5)
    expect(found.events).toMatchObject([
      { seq: 1, version: 1, payload: '{"text":"hello"}', lane: 'main', actor: 'me', at: 1001 },
      { seq: 2, version: 2, payload: 'null' },
    ])
    expect(found.entries).toMatchObject([
      { key: 'cursor', since: 5, until: null, value: '0' },
      { key: 'plan', since: 2, until: 3, value: '1' },
      { key: 'plan', since: 3, until: 4, value: '2' },
      { key: 'plan', since: 5, until: null, value: '3' },
    ])
    expect(found.sessions).toMatchObject([{ version: 5, projected_version: 5, digest: 'commit-5' }])
  })

  it('is idempotent: a second time it writes no row at all', async () => {
    const fleet = newFleet()
    const batch = batchOf(fleet, 's', history, 1, 5, rowAt(5, { labels: { team: 'a' }, title: 'T' }))
    await project(db, batch)
    const before = await contents(fleet, 's')
    const counted = counting(db)
    expect(await project(counted.db, batch)).toEqual({ ok: true, projected: 5 })
    expect(counted.rowsWritten()).toBe(0)
    expect(await contents(fleet, 's')).toEqual(before)
  })

  it('that overlaps adds only what is new', async () => {
    const fleet = newFleet()
    await project(db, batchOf(fleet, 'one', history))
    await project(db, batchOf(fleet, 'two', history, 1, 3))
    await project(db, batchOf(fleet, 'two', history, 2, 5))
    expect(await contents(fleet, 'two')).toEqual(await contents(fleet, 'one'))
  })

  it('after a gap is refused, writes none of its commits, and tells where to begin again', async () => {
    const fleet = newFleet()
    const gap = (projected: number): Projected => ({ ok: false, code: 'gap', projected })
    expect(await project(db, batchOf(fleet, 's', history, 2, 5))).toEqual(gap(0))
    expect(await project(db, batchOf(fleet, 's', history, 1, 2))).toEqual({ ok: true, projected: 2 })
    expect(await project(db, batchOf(fleet, 's', history, 4, 5))).toEqual(gap(2))
    expect((await contents(fleet, 's')).commits).toHaveLength(2)
    expect((await contents(fleet, 's')).entries).toHaveLength(1)
  })

  it('that is older and comes late moves nothing back', async () => {
    const fleet = newFleet()
    await project(db, batchOf(fleet, 's', history, 1, 5, rowAt(5, { title: 'new', labels: { a: 'new' } })))
    const before = await contents(fleet, 's')
    const late = batchOf(
      fleet,
      's',
      history,
      1,
      2,
      rowAt(2, { title: 'old', labels: { a: 'old', b: 'old' } }),
    )
    expect(await project(db, late)).toEqual({ ok: true, projected: 5 })
    expect(await contents(fleet, 's')).toEqual(before)
  })

  it('sent again with a newer title takes the title, and moves no version back', async () => {
    const fleet = newFleet()
    await project(db, batchOf(fleet, 's', history))
    const again = batchOf(fleet, 's', history, 1, 2, rowAt(5, { title: 'new', updated_at: 9000 }))
    expect(await project(db, again)).toEqual({ ok: true, projected: 5 })
    expect((await contents(fleet, 's')).sessions).toMatchObject([
      { title: 'new', version: 5, projected_version: 5 },
    ])
  })

  it('twenty at once, overlapping, end as one would', async () => {
    const fleet = newFleet()
    await project(db, batchOf(fleet, 'one', history))
    const racing = Array.from({ length: 20 }, (_, i) => batchOf(fleet, 'two', history, 1, (i % 5) + 1))
    await Promise.all(racing.map((batch) => project(db, batch)))
    expect(await contents(fleet, 'two')).toEqual(await contents(fleet, 'one'))
  })

  it('of a fork begins after its origin', async () => {
    const fleet = newFleet()
    const row = rowAt(5, { origin: { session: 'parent', version: 3 } })
    expect(await project(db, batchOf(fleet, 'early', history, 3, 5, row))).toMatchObject({ ok: true })
    expect(await project(db, batchOf(fleet, 'child', history, 5, 5, row))).toMatchObject({
      ok: false,
      projected: 3,
    })
    expect(await project(db, batchOf(fleet, 'child', history, 4, 5, row))).toEqual({ ok: true, projected: 5 })
    expect((await contents(fleet, 'child')).sessions).toMatchObject([
      { origin_session: 'parent', origin_version: 3 },
    ])
  })

  it('with an entry set several times in one version keeps what the version left behind', async () => {
    const fleet = newFleet()
    await project(
      db,
      batchOf(fleet, 's', [
        [set('a', '1'), set('a', '2')],
        [set('a', '3'), take('a')],
      ]),
    )
    expect((await contents(fleet, 's')).entries).toMatchObject([{ since: 1, until: 2, value: '2' }])
  })

  it('larger than one parameter comes in whole', async () => {
    const fleet = newFleet()
    const text = JSON.stringify('"\\ä'.repeat(60_000))
    const large: History = Array.from({ length: 12 }, () => [{ event: text }, set('big', text)])
    await project(db, batchOf(fleet, 's', large))
    const found = await contents(fleet, 's')
    expect(found.events).toHaveLength(12)
    expect(found.entries?.map((row) => (row as { since: number; until: number }).until)).toEqual([
      ...Array.from({ length: 11 }, (_, i) => i + 2),
      null,
    ])
    expect(found.entries?.[0]).toMatchObject({ value: text })
  })

  it('with a value too large for a row keeps its size and digest, not the value', async () => {
    const fleet = newFleet()
    const text = JSON.stringify('x'.repeat(1_000_000))
    await project(db, batchOf(fleet, 's', [[{ event: text }, set('big', text)]]))
    const found = await contents(fleet, 's')
    expect(found.events).toMatchObject([{ payload: null, size: text.length, digest: 'event-1' }])
    expect(found.entries).toMatchObject([{ value: null, size: text.length, until: null }])
  })

  it('with the longest possible list of operations keeps what fits and says that there was more', async () => {
    const fleet = newFleet()
    const ops = JSON.stringify(
      Array.from({ length: 1000 }, () => ({ op: 'file.put', ref: `file:${'"'.repeat(1024)}` })),
    )
    const batch = batchOf(fleet, 's', [[{ event: '1' }]])
    await project(db, { ...batch, commits: batch.commits.map((commit) => ({ ...commit, ops })) })
    const [commit] = (await contents(fleet, 's')).commits as { ops: string; ops_more: number }[]
    expect(commit?.ops_more).toBe(1)
    expect(JSON.parse(commit?.ops ?? '')).toEqual(
      JSON.parse(ops).slice(0, JSON.parse(commit?.ops ?? '').length),
    )
  })

  it('keeps every character of keys, labels, titles and values', async () => {
    const fleet = newFleet()
    const strange = 'a"b\\c\u0000d\n\u{1F680}é𝒳__proto__\'%_'
    const value = JSON.stringify(strange)
    const labels = JSON.parse(`{"__proto__": "1", ${value}: ${value}, "": ""}`) as Record<string, string>
    const row = rowAt(1, { title: strange, labels })
    await project(
      db,
      batchOf(fleet, 's', [[set('k"\\é\u{1F680}', value), { event: '12345678901234567890.50' }]], 1, 1, row),
    )
    const found = await contents(fleet, 's')
    expect(found.entries).toMatchObject([{ key: 'k"\\é\u{1F680}', value }])
    expect(found.events).toMatchObject([{ payload: '12345678901234567890.50' }])
    expect(found.sessions).toMatchObject([{ title: strange }])
    expect(found.session_labels).toHaveLength(3)
    expect(found.session_labels).toContainEqual({ key: strange, value: strange })
    await projectSession(db, { fleet, session: 's', row: rowAt(1, { updated_at: 2000 }) })
    expect((await contents(fleet, 's')).session_labels).toEqual([])
  })
})

describe('written rows', () => {
  it('an append is three, and its batch two more for the session', async () => {
    const fleet = newFleet()
    const appends: History = Array.from({ length: 11 }, () => [{ event: '{"text":"hello"}' }])
    await project(db, batchOf(fleet, 's', appends, 1, 1))
    const ten = counting(db)
    await project(ten.db, batchOf(fleet, 's', appends, 2, 11))
    expect(ten.rowsWritten()).toBe(10 * 3 + 2)
  })

  it('a first write of an entry is three, an update four', async () => {
    const fleet = newFleet()
    await project(db, batchOf(fleet, 's', history, 1, 1))
    const first = counting(db)
    await project(first.db, batchOf(fleet, 's', [[], [set('a', '1')], [set('a', '2')]], 2, 2))
    expect(first.rowsWritten()).toBe(3 + 2)
    const update = counting(db)
    await project(update.db, batchOf(fleet, 's', [[], [set('a', '1')], [set('a', '2')]], 3, 3))
    expect(update.rowsWritten()).toBe(4 + 2)
  })

  it('closing an entry reads no more however long its past is', async () => {
    const fleet = newFleet()
    const deep: History = Array.from({ length: 2001 }, (_, i) => [set('a', String(i))])
    await project(db, batchOf(fleet, 's', deep, 1, 2000))
    const counted = counting(db)
    await project(counted.db, batchOf(fleet, 's', deep, 2001, 2001))
    expect(counted.rowsRead()).toBeLessThan(40)
  })
})

describe('a session without a new commit', () => {
  it('shows its new title and labels, and keeps how far its history is', async () => {
    const fleet = newFleet()
    await projectSession(db, { fleet, session: 's', row: rowAt(0, { labels: { a: '1', b: '2' } }) })
    expect((await contents(fleet, 's')).sessions).toMatchObject([{ version: 0, projected_version: 0 }])
    await project(db, batchOf(fleet, 's', history, 1, 5, rowAt(5, { labels: { a: '1', b: '2' } })))
    const counted = counting(db)
    const row = rowAt(5, { title: 'Named', labels: { a: '1', b: '3' }, updated_at: 9000, expires_at: 10_000 })
    expect(await projectSession(counted.db, { fleet, session: 's', row })).toEqual({ ok: true, projected: 5 })
    const found = await contents(fleet, 's')
    expect(found.sessions).toMatchObject([
      { title: 'Named', projected_version: 5, expires_at: 10_000, updated_at: 9000 },
    ])
    expect(found.session_labels).toEqual([
      { key: 'a', value: '1' },
      { key: 'b', value: '3' },
    ])
  })

  it('ignores an older title that comes late', async () => {
    const fleet = newFleet()
    await projectSession(db, { fleet, session: 's', row: rowAt(3, { title: 'new', updated_at: 5000 }) })
    await projectSession(db, {
      fleet,
      session: 's',
      row: rowAt(3, { title: 'old', updated_at: 4000, labels: { a: '1' } }),
    })
    const found = await contents(fleet, 's')
    expect(found.sessions).toMatchObject([{ title: 'new', updated_at: 5000 }])
    expect(found.session_labels).toEqual([])
  })
})
