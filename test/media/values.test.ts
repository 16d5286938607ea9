// Values too large for a row: they go to R2 and come back, by themselves.

import { describe, expect, it } from 'vitest'
import { Client } from './support.ts'

const MiB = 1024 * 1024

function letters(size: number, seed = 'a'): string {
  return seed.repeat(size)
}

async function stateOf(client: Client, key: string): Promise<unknown> {
  const got = await client.ask(`/state/${key}`)
  expect(got.status).toBe(200)
  return got.json()
}

describe('a large value', () => {
  it('C14: ten tool results of 5 MB come back equal', async () => {
    const client = await Client.make()
    for (let i = 0; i < 10; i++) {
      const call = { type: 'tool_call', payload: { id: `c${i}`, name: 'read', input: {} } }
      const output = letters(5_000_000, String(i))
      const result = { type: 'tool_result', payload: { call_id: `c${i}`, output } }
      expect((await client.json('POST', '/log', { events: [call, result] })).status).toBe(201)
    }
    expect(await (await client.ask('/log/pending')).json()).toMatchObject({ items: [] })
    for (let i = 0; i < 10; i++) {
      const event = await (await client.ask(`/log/${2 * i + 2}`)).json<{ payload: { output: string } }>()
      expect(event.payload.output === letters(5_000_000, String(i))).toBe(true)
    }
  })

  it('C14: a state of 5 MB, and 1,000 messages of 3 KB, are as they were', async () => {
    const client = await Client.make()
    const value = { big: letters(5_000_000), n: 1 }
    expect((await client.json('PUT', '/state/s', value)).status).toBe(201)
    expect(await stateOf(client, 's')).toEqual(value)
    const events = Array.from({ length: 1000 }, (_, i) => ({ payload: { i, text: letters(3000) } }))
    expect((await client.json('POST', '/log', { events })).status).toBe(201)
    const page = await (await client.ask('/log?limit=1000')).json<{ items: { payload: unknown }[] }>()
    expect(page.items.map((item) => item.payload)).toEqual(events.map((event) => event.payload))
  })

  it('of 16 MiB comes back equal; of 17 MiB is refused with the limit', async () => {
    const client = await Client.make()
    const most = letters(16 * MiB - 2)
    expect((await client.json('PUT', '/state/most', most)).status).toBe(201)
    expect((await stateOf(client, 'most')) === most).toBe(true)
    const refused = await client.json('PUT', '/state/more', letters(17 * MiB))
    expect(refused.status).toBe(413)
    expect(await refused.json()).toMatchObject({ code: 'too_large', limit: 16 * MiB })
    expect((await client.ask('/state/more')).status).toBe(404)
  })

  it('makes with others at most 24 MiB in one commit', async () => {
    const client = await Client.make()
    const ops = ['a', 'b'].map((key) => ({ op: 'state.set', key, value: letters(13 * MiB) }))
    const refused = await client.json('POST', '/commits', { ops })
    expect([refused.status, (await refused.json<{ limit: number }>()).limit]).toEqual([413, 24 * MiB])
    const fits = ops.map((op) => ({ ...op, value: letters(12 * MiB - 9) }))
    expect((await client.json('POST', '/commits', { ops: fits })).status).toBe(201)
    expect(((await stateOf(client, 'b')) as string).length).toBe(12 * MiB - 9)
  })

  it('C15: a tool result over the limit is refused, and the call is ended with a reason', async () => {
    const client = await Client.make()
    await client.json('POST', '/log', { type: 'tool_call', payload: { id: 'c', name: 'dump', input: {} } })
    const result = { type: 'tool_result', payload: { call_id: 'c', output: letters(17 * MiB) } }
    const refused = await client.json('POST', '/log', result)
    expect([refused.status, (await refused.json<{ limit: number }>()).limit]).toEqual([413, 16 * MiB])
    const reason = { type: 'tool_result', payload: { call_id: 'c', error: 'the result is too large' } }
    expect((await client.json('POST', '/log', reason)).status).toBe(201)
    expect(await (await client.ask('/log/pending')).json()).toMatchObject({ items: [] })
  })
})

describe('a patch', () => {
  it('of a large value changes what it names, and no more', async () => {
    const client = await Client.make()
    await client.json('PUT', '/state/s', { big: letters(400_000), n: 1, gone: true })
    expect((await client.json('PATCH', '/state/s', { n: 2, gone: null })).status).toBe(200)
    expect(await stateOf(client, 's')).toEqual({ big: letters(400_000), n: 2 })
    expect((await client.json('PATCH', '/state/s', { big: null })).status).toBe(200)
    expect(await stateOf(client, 's')).toEqual({ n: 2 })
  })

  it('makes a small value large, up to the limit and not beyond', async () => {
    const client = await Client.make()
    await client.json('PUT', '/state/s', { n: 1 })
    expect((await client.json('PATCH', '/state/s', { big: letters(300_000) })).status).toBe(200)
    expect(await stateOf(client, 's')).toEqual({ n: 1, big: letters(300_000) })
    expect((await client.json('PATCH', '/state/s', { a: letters(9 * MiB) })).status).toBe(200)
    const refused = await client.json('PATCH', '/state/s', { b: letters(9 * MiB) })
    expect([refused.status, (await refused.json<{ limit: number }>()).limit]).toEqual([413, 16 * MiB])
    expect(((await stateOf(client, 's')) as { a: string }).a.length).toBe(9 * MiB)
  })

  it('in the middle of a commit sees what came before it there', async () => {
    const client = await Client.make()
    const ops = [
      { op: 'state.set', key: 's', value: { big: letters(300_000), n: 1 } },
      { op: 'state.patch', key: 's', patch: { n: 2 } },
      { op: 'state.add', key: 'count', by: 1 },
      { op: 'state.patch', key: 's', patch: { m: 3 } },
    ]
    expect((await client.json('POST', '/commits', { ops })).status).toBe(201)
    expect(await stateOf(client, 's')).toEqual({ big: letters(300_000), n: 2, m: 3 })
    expect(await stateOf(client, 'count')).toBe(1)
  })

  it('loses nothing when many patch one large value at once', async () => {
    const client = await Client.make()
    await client.json('PUT', '/state/s', { big: letters(300_000) })
    const patch = async (i: number) => {
      for (;;) {
        const answer = await client.json('PATCH', '/state/s', { [`k${i}`]: i })
        if (answer.status === 200) return
        expect(answer.status).toBe(503)
      }
    }
    await Promise.all(Array.from({ length: 8 }, (_, i) => patch(i)))
    const value = (await stateOf(client, 's')) as Record<string, number>
    for (let i = 0; i < 8; i++) expect(value[`k${i}`]).toBe(i)
  })

  it('keeps to its own conditions and its idempotency key', async () => {
    const client = await Client.make()
    await client.json('PUT', '/state/s', { big: letters(300_000), n: 1 })
    const ops = [{ op: 'state.patch', key: 's', patch: { n: 9 }, if: { version: 7 } }]
    expect((await client.json('POST', '/commits', { ops })).status).toBe(412)
    const once = () =>
      client.ask('/state/s', {
        method: 'PATCH',
        body: '{"n":2}',
        headers: { 'content-type': 'application/json', 'idempotency-key': 'k' },
      })
    const [first, second] = [await (await once()).json(), await (await once()).json()]
    expect(second).toEqual(first)
  })

  it('that adds to a large value is refused: it is no number', async () => {
    const client = await Client.make()
    await client.json('PUT', '/state/s', letters(300_000))
    const ops = [{ op: 'state.add', key: 's', by: 1 }]
    const refused = await client.json('POST', '/commits', { ops })
    expect([refused.status, (await refused.json<{ code: string }>()).code]).toEqual([422, 'invalid'])
  })
})
