import { describe, expect, test } from 'vitest'
import type { Session, TailItem, TailOptions } from '../../src/client/index.ts'
import { type Answer, chunks, fake, json, problem, refused } from './fake.ts'

function commit(version: number): string {
  return `id: ${version}\nevent: commit\ndata: ${JSON.stringify({ version, ops: [] })}\n\n`
}

function stream(texts: (string | Uint8Array)[], then: 'end' | 'fail' | 'hang' = 'end'): Response {
  return new Response(chunks(texts, then), { headers: { 'content-type': 'text/event-stream' } })
}

async function take(session: Session, count: number, options: TailOptions): Promise<TailItem[]> {
  const items: TailItem[] = []
  for await (const item of session.tail(options)) {
    items.push(item)
    if (items.length === count) break
  }
  return items
}

function follow(answers: Answer[], count: number, options: TailOptions = { after: 0 }) {
  const { lares, asked } = fake(answers)
  return take(lares.session('s'), count, options).then((items) => ({ items, asked }))
}

function versions(items: TailItem[]): (number | string)[] {
  return items.map((item) => (item.event === 'gap' ? `gap ${item.head}` : item.version))
}

describe('a tail', () => {
  test('goes on after the last commit it delivered, over every way a connection can end', async () => {
    const { items, asked } = await follow(
      [
        stream([commit(1), commit(2)], 'end'),
        stream([commit(3), 'id: 4\nevent: commit\ndata: {"ver'], 'fail'),
        refused(),
        problem(503, 'unavailable'),
        stream([commit(4), commit(5)], 'hang'),
      ],
      5,
    )
    expect(versions(items)).toEqual([1, 2, 3, 4, 5])
    expect(asked.map((one) => one.query.after)).toEqual(['0', '2', '3', '3', '3'])
    expect(asked.map((one) => one.headers.get('last-event-id'))).toEqual(['0', '2', '3', '3', '3'])
  })

  test('drops what the edge tells twice', async () => {
    const { items } = await follow(
      [stream([commit(1), commit(1), commit(2)]), stream([commit(1), commit(2), commit(3)])],
      3,
    )
    expect(versions(items)).toEqual([1, 2, 3])
  })

  test('asks again when a commit is missing on the line', async () => {
    const { items, asked } = await follow([stream([commit(1), commit(3)]), stream([commit(2), commit(3)])], 3)
    expect(versions(items)).toEqual([1, 2, 3])
    expect(asked[1]?.query.after).toBe('1')
  })

  test('tells a gap, and goes on from its head', async () => {
    const gap = 'id: 40\nevent: gap\ndata: {"head": 40}\n\n'
    const { items, asked } = await follow([stream([gap], 'end'), stream([commit(41)])], 2, { after: 7 })
    expect(items[0]).toEqual({ event: 'gap', head: 40 })
    expect(versions(items)).toEqual(['gap 40', 41])
    expect(asked.map((one) => one.query.after)).toEqual(['7', '40'])
  })

  test('tells a gap that the edge did not tell, and does not ask for ever', async () => {
    const { items } = await follow([stream([commit(9)])], 2, { after: 7 })
    expect(versions(items)).toEqual(['gap 8', 9])
  })

  test('begins at the version the world has now, before its first connection', async () => {
    const { items, asked } = await follow([json({ version: 12 }), refused(), stream([commit(13)])], 1, {})
    expect(versions(items)).toEqual([13])
    expect(asked.map((one) => one.path)).toEqual([
      '/v1/sessions/s',
      '/v1/sessions/s/tail',
      '/v1/sessions/s/tail',
    ])
    expect(asked[2]?.query.after).toBe('12')
  })

  test('reads events whatever the chunks, and skips comments and events it does not know', async () => {
    const bytes = new TextEncoder().encode(
      `: ping\n\nevent: hello\ndata: {}\n\nevent: commit\r\ndata: {"version":1,"message":"naïve 🚀"}\r\n\r\n`,
    )
    const { items } = await follow([stream(Array.from(bytes, (byte) => new Uint8Array([byte])))], 1)
    expect(items).toEqual([{ event: 'commit', version: 1, message: 'naïve 🚀' }])
  })

  test('J7: takes a silent connection for a dead one', async () => {
    const { items, asked } = await follow([stream([commit(1)], 'hang'), stream([commit(2)])], 2, {
      after: 0,
      silence_ms: 20,
    })
    expect(versions(items)).toEqual([1, 2])
    expect(asked).toHaveLength(2)
  })

  test('says when and why it reconnects', async () => {
    const reasons: unknown[] = []
    await follow([stream([commit(1)]), problem(503, 'unavailable'), stream([commit(2)])], 2, {
      after: 0,
      onReconnect: (error) => reasons.push(error),
    })
    expect(reasons).toHaveLength(2)
    expect(reasons[0]).toBeUndefined()
    expect(reasons[1]).toMatchObject({ code: 'unavailable' })
  })

  test.each([
    [401, 'unauthenticated'],
    [404, 'not_found'],
    [410, 'gone'],
  ])('ends with the error when the edge refuses for good: %i %s', async (status, code) => {
    await expect(follow([stream([commit(1)]), problem(status, code)], 2)).rejects.toMatchObject({ code })
  })

  test('ends quietly when its signal aborts, wherever it is', async () => {
    const controller = new AbortController()
    const { lares } = fake([stream([commit(1)], 'hang')])
    const items: TailItem[] = []
    for await (const item of lares.session('s').tail({ after: 0, signal: controller.signal })) {
      items.push(item)
      setTimeout(() => controller.abort(), 5)
    }
    expect(versions(items)).toEqual([1])
    const { lares: other, asked } = fake([])
    for await (const item of other.session('s').tail({ signal: controller.signal })) items.push(item)
    expect(items).toHaveLength(1)
    expect(asked).toHaveLength(0)
  })

  test('frees its connection when the loop is left', async () => {
    let freed = false
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode(commit(1))),
      cancel: () => {
        freed = true
      },
    })
    await follow([new Response(body)], 1)
    expect(freed).toBe(true)
  })
})
