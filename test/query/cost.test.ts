import { describe, expect, it } from 'vitest'
import { worstCase } from '../../src/session/query/cost.ts'

const sizes = new Map([
  ['lares_log', 1000],
  ['lares_state_past', 500],
])
const cost = (plan: [id: number, parent: number, detail: string][], hasIn = false) =>
  worstCase(
    plan.map(([id, parent, detail]) => ({ id, parent, detail })),
    sizes,
    { elements: 10, recursion: 100, hasIn },
  )

describe('the worst case of a plan', () => {
  it('multiplies loops in one another, and looks a row up once by its whole key', () => {
    expect(cost([[1, 0, 'SCAN lares_log']])).toBe(1000)
    expect(
      cost([
        [1, 0, 'SCAN lares_log'],
        [2, 0, 'SCAN lares_log'],
      ]),
    ).toBe(1_000_000)
    const byKey: [number, number, string] = [2, 0, 'SEARCH lares_log USING INTEGER PRIMARY KEY (rowid=?)']
    expect(cost([[1, 0, 'SCAN lares_log'], byKey])).toBe(1000)
    expect(cost([[1, 0, 'SCAN lares_log'], byKey], true)).toBe(1_000_000)
  })

  it('takes a key of the past for all its versions', () => {
    expect(cost([[1, 0, 'SEARCH lares_state_past USING PRIMARY KEY (kind=? AND key=?)']])).toBe(500)
  })

  it('runs what is correlated for every row around it', () => {
    expect(
      cost([
        [1, 0, 'SCAN lares_log'],
        [2, 0, 'CORRELATED SCALAR SUBQUERY 1'],
        [3, 2, 'SCAN lares_log'],
      ]),
    ).toBe(1_001_000)
  })

  it('takes an unknown name for the largest thing there is', () => {
    expect(cost([[1, 0, 'SCAN nobody']])).toBeGreaterThanOrEqual(1000)
  })
})
