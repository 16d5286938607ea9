// The SDK's time, once for real.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Lares, LaresError } from '../../src/client/index.ts'
import { type LocalEdge, startLocal } from '../../src/local/index.ts'

let edge: LocalEdge
let lares: Lares

beforeAll(async () => {
  edge = await startLocal()
  lares = new Lares({ url: edge.url, token: edge.key })
})

afterAll(async () => {
  await edge.close()
})

describe('time', () => {
  test('is snapshotted, forked, compared, merged, reverted, proved and erased', async () => {
    const session = await lares.sessions.create('origin')
    await session.state.set('plan', { step: 1 })
    await session.log.append({ payload: 'begun' })
    const { root } = await session.snapshots.take('start')
    expect((await session.snapshots.list().all()).map(({ name }) => name)).toEqual(['start'])

    const attempt = await session.fork({ at: 'snap:start', title: 'An attempt' })
    await attempt.state.set('plan', { step: 2 })
    const changes = await session.diff({ with: attempt.id }).all()
    expect(changes).toMatchObject([
      { ref: 'state:plan', change: 'changed', before: { step: 1 }, after: { step: 2 } },
    ])

    expect(await session.previewMerge(attempt)).toMatchObject({ applied: 1, conflicts: [] })
    expect(await session.merge(attempt)).toMatchObject({ version: 3, applied: 1 })
    expect(await session.state.get('plan')).toEqual({ step: 2 })

    expect(await session.revert('snap:start')).toMatchObject({ version: 4, changed: 1 })
    const again = await session.snapshots.take('again')
    expect(again.root).toBe(root)

    expect(await session.verify()).toMatchObject({ ok: true, root, problems: [] })
    expect(await session.erase(['log:1'], { message: 'asked to' })).toMatchObject({ erased: 1 })
    const gone = await session.log.get(1).catch((error: unknown) => error)
    expect(LaresError.is(gone, 'gone')).toBe(true)
    expect(await session.verify()).toMatchObject({ ok: true })
  })
})
