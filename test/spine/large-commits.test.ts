// Commits near the limits. What crosses to the object may take 32 MiB, and a text with a single character beyond Latin-1
// takes two bytes for each of its characters: near the limit, that made the difference between an answer and a 500.

import { describe, expect, it } from 'vitest'
import { newSession } from './support.ts'

const many = (n: number, value: (i: number) => string) =>
  Array.from({ length: n }, (_, i) => ({ op: 'log.append', payload: value(i) }))

describe('a commit of many large values', () => {
  it('of wide characters is taken and comes back whole', async () => {
    const s = await newSession()
    const text = `🚀${'x'.repeat(240_000)}`
    const version = await s.wrote(many(90, () => text))
    const commit = await s.get(`/commits/${version}`)
    expect(commit.ops).toHaveLength(90)
    expect(commit.ops.every((op: { value: { payload: string } }) => op.value.payload === text)).toBe(true)
  })

  it('of narrow ones with a wide one among them is taken and comes back whole', async () => {
    const s = await newSession()
    const version = await s.wrote(many(90, (i) => (i === 5 ? '🚀' : '') + 'x'.repeat(240_000)))
    expect((await s.get(`/commits/${version}`)).ops).toHaveLength(90)
  })

  it('too large together is refused with the limit, also when they are patches, which cannot be moved away', async () => {
    const s = await newSession()
    const patch = `{"a":[${'1e20,'.repeat(700_000)}1]}`
    const raw = `{"ops":[${Array.from({ length: 3 }, () => `{"op":"state.patch","key":"k","patch":${patch}}`).join()}]}`
    const answer = await s.ask('POST', '/commits', { raw, headers: { 'content-type': 'application/json' } })
    expect([answer.status, answer.body.code]).toEqual([413, 'too_large'])
    expect(answer.body.limit).toBeGreaterThan(0)
    expect((await s.get()).version).toBe(0)
  })

  it('a thousand of them with references is refused or taken, never a 500', async () => {
    const s = await newSession()
    const from = Array.from({ length: 60 }, (_, i) => `file:${'é'.repeat(120)}${i}`)
    const ops = Array.from({ length: 1000 }, (_, i) => ({
      op: 'state.set',
      key: `k${i}`,
      value: '—'.repeat(900),
      from,
    }))
    const answer = await s.commit(ops)
    expect([201, 413]).toContain(answer.status)
  })
})
