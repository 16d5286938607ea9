// Cases C: values come back equal or are refused, whatever they are and however large.

import { runInDurableObject } from 'cloudflare:test'
import { expect, it } from 'vitest'
import { type Loose, newSession, type TestSession } from '../spine/support.ts'

const json = { 'content-type': 'application/json' }

/** Stores a value by each door that takes one, and reads it back by each that gives one. */
async function everywhere(session: TestSession, value: unknown): Promise<string[]> {
  const n = (await session.get()).version
  await session.wrote([
    { op: 'log.append', payload: value },
    { op: 'state.set', key: `k${n}`, value },
  ])
  const { seq } = (await session.get('/log?order=desc&limit=1')).items[0]
  const version = n + 1
  const [event] = (await session.get(`/log?after=${seq - 1}`)).items
  const [entry] = (await session.get(`/state?prefix=k${n}`)).items
  const commit = await session.get(`/commits/${version}`)
  return [
    (await session.ask('GET', `/state/k${n}`)).text,
    (await session.ask('GET', `/state/k${n}?at=${version}`)).text,
    JSON.stringify(event.payload),
    JSON.stringify((await session.get(`/log/${seq}`)).payload),
    JSON.stringify(entry.value),
    JSON.stringify(commit.ops[0].value.payload),
    JSON.stringify(commit.ops[1].value),
  ]
}

it('C1 a lone surrogate is refused by every door, with its place, and leaves the session readable', async () => {
  const session = await newSession()
  const bad = '"a\\uD99Cb"'
  const doors: [string, string, string, string][] = [
    ['POST', '/log', `{"payload":{"text":${bad}}}`, '/payload/text'],
    ['POST', '/log', `{"payload":1,"type":${bad}}`, '/type'],
    ['POST', '/log', `{"payload":1,"key":${bad}}`, '/key'],
    ['POST', '/commits', `{"ops":[{"op":"state.set","key":"k","value":[${bad}]}]}`, '/ops/0/value/0'],
    ['POST', '/commits', `{"ops":[{"op":"state.set","key":${bad},"value":1}]}`, '/ops/0/key'],
    ['POST', '/commits', `{"ops":[{"op":"log.append","payload":1}],"message":${bad}}`, '/message'],
    ['POST', '/commits', `{"ops":[{"op":"log.append","payload":1}],"cause":{"x":${bad}}}`, '/cause/x'],
    ['PUT', '/state/k', bad, ''],
    ['PATCH', '/state/k', `{"a":${bad}}`, '/a'],
    ['PATCH', '', `{"title":${bad}}`, '/title'],
    ['PATCH', '', `{"labels":{"a":${bad}}}`, '/labels/a'],
    ['POST', '/lease', `{"holder":${bad},"ttl":5}`, '/holder'],
  ]
  for (const [method, path, raw, pointer] of doors) {
    const answer = await session.ask(method, path, { raw, headers: json })
    expect([method, path, raw, answer.status, answer.body.pointer]).toEqual([method, path, raw, 422, pointer])
  }
  expect((await session.seen()).shown.version).toBe(0)
})

it('C2 a character of four bytes survives being cut by the chunks it arrives in', async () => {
  const session = await newSession()
  const bytes = new TextEncoder().encode(`"${'x'.repeat(78)}🚀${'🚀'.repeat(50)}"`)
  for (let size = 1; size <= 5; size++) {
    const body = new ReadableStream({
      start(controller) {
        for (let i = 0; i < bytes.length; i += size) controller.enqueue(bytes.slice(i, i + size))
        controller.close()
      },
    })
    const answer = await session.ask('PUT', `/state/k${size}`, { raw: body, headers: json })
    expect(answer.status).toBe(201)
    expect((await session.ask('GET', `/state/k${size}`)).text).toBe(new TextDecoder().decode(bytes))
  }
})

it('C3 NUL in a text comes back, and six typed characters are six characters', async () => {
  const session = await newSession()
  for (const value of ['a\u0000b', '\u0000', 'a\\u0000b', { '\u0000': '\u0000\u0001' }]) {
    for (const text of await everywhere(session, value)) expect(text).toBe(JSON.stringify(value))
  }
  const typed = await session.say(1, { type: 'a\u0000b', key: 'c\u0000d' })
  expect(typed.status).toBe(201)
  expect((await session.get('/log?type=a%00b')).items).toMatchObject([{ type: 'a\u0000b', key: 'c\u0000d' }])
})

it('C4 an integer that a double cannot hold is refused, never rounded', async () => {
  const session = await newSession()
  for (const n of [
    '9007199254740993',
    '9223372036854775807',
    '18446744073709551615',
    '340282366920938463463374607431768211455',
    '9007199254740993.0',
    '9007199254740993e0',
  ]) {
    const answer = await session.ask('PUT', '/state/k', { raw: `{"id":[${n}]}`, headers: json })
    expect([n, answer.status, answer.body.pointer]).toEqual([n, 422, '/id/0'])
  }
  for (const n of ['9007199254740991', '-9007199254740992', '1e21', '0.1', '5e-324']) {
    await session.ask('PUT', '/state/k', { raw: n, headers: json })
    expect(Number((await session.ask('GET', '/state/k')).text)).toBe(Number(n))
  }
  await session.ask('PUT', '/state/n', { json: Number.MAX_SAFE_INTEGER })
  const over = await session.commit([{ op: 'state.add', key: 'n', by: 1 }])
  expect([over.status, over.body.pointer]).toEqual([422, '/ops/0/by'])
})

it('C6 one NaN refuses its batch, at its place, and nothing of it is written', async () => {
  const session = await newSession()
  for (const word of ['NaN', 'Infinity', '-Infinity', '1e999']) {
    const raw = `{"events":[{"payload":1},{"payload":{"a":1,"b":${word}}}]}`
    expect((await session.ask('POST', '/log', { raw, headers: json })).status).toBe(422)
  }
  const raw = '{"events":[{"payload":1},{"payload":{"a":1,"b":1e999}}]}'
  expect((await session.ask('POST', '/log', { raw, headers: json })).body.pointer).toBe('/events/1/payload/b')
  expect((await session.get()).version).toBe(0)
})

it('C8 data that looks like somebody’s marker is data', async () => {
  const session = await newSession()
  for (const value of [
    { x: { lc: 1, type: 'constructor', id: [], kwargs: {} } },
    { $type: 'Date', value: 1 },
    { $ref: 'blob:x' },
    { blob: 'a'.repeat(64), size: 1 },
    { ok: false, code: 'gone' },
    JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":1},"toJSON":1}'),
  ]) {
    for (const text of await everywhere(session, value)) expect(JSON.parse(text)).toEqual(value)
  }
  const raw = '{"__proto__":{"polluted":true}}'
  await session.ask('PUT', '/state/p', { raw, headers: json })
  await session.ask('PATCH', '/state/p', { raw: '{"__proto__":{"polluted":null,"b":1}}', headers: json })
  expect((await session.ask('GET', '/state/p')).text).toBe('{"__proto__":{"b":1}}')
})

it('C10 a stored value that does not decode fails loudly and alone', async () => {
  const session = await newSession()
  await session.wrote([
    { op: 'state.set', key: 'bad', value: 1 },
    { op: 'state.set', key: 'good', value: 2 },
    { op: 'log.append', payload: 1 },
    { op: 'log.append', payload: 2 },
  ])
  await runInDurableObject(session.stub(), (_, { storage }) => {
    storage.sql.exec("UPDATE entries SET value = x'ff00' WHERE key = 'bad'")
    storage.sql.exec("UPDATE events SET value = x'ff' WHERE seq = 1")
  })
  for (const path of ['/state/bad', '/state/bad?at=1', '/log/1']) {
    const answer = await session.ask('GET', path)
    expect([path, answer.status, answer.body.code]).toEqual([path, 500, 'corrupt'])
  }
  expect(await session.get('/state/good')).toBe(2)
  expect((await session.get('/log/2')).payload).toBe(2)
  const marked = (items: Loose[]) => items.map(({ corrupt }) => corrupt === true)
  expect(marked((await session.get('/state')).items)).toEqual([true, false])
  expect(marked((await session.get('/log')).items)).toEqual([true, false])
  expect(marked((await session.get('/commits/1')).ops)).toEqual([true, false, true, false])
})

it('C12 0, false, "", null, [], {}, the empty key and absent are all different, and so is version 0', async () => {
  const session = await newSession()
  const falsy = [0, false, '', null, [], {}]
  for (const value of falsy)
    for (const text of await everywhere(session, value)) expect(text).toBe(JSON.stringify(value))
  await session.ask('PUT', '/state/', { json: '' })
  expect(await session.get('/state/')).toBe('')
  expect((await session.ask('GET', '/state/absent')).status).toBe(404)
  expect(await session.get('/state?at=0')).toEqual({ items: [], next: null })
  expect((await session.ask('GET', '/state/k0?at=0')).status).toBe(404)
  expect(await session.get('/log?after=0&limit=1')).toMatchObject({ items: [{ seq: 1 }] })
  expect((await session.ask('GET', '/log/0')).status).toBe(404)
  const first = await newSession()
  expect((await first.commit([{ op: 'log.append', payload: 0 }], { expect: 0 })).status).toBe(201)
})

it('C13 ten thousand levels are refused at once by every door; a hundred work everywhere', async () => {
  const session = await newSession()
  const nest = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  const doors = (value: string): [string, string, string][] => [
    ['POST', '/log', `{"payload":${value}}`],
    ['PUT', '/state/k', value],
    ['POST', '/commits', `{"ops":[{"op":"state.set","key":"k","value":${value}}]}`],
    ['PATCH', '/state/p', `{"a":${value}}`],
  ]
  for (const depth of [101, 109, 10_000]) {
    for (const [method, path, raw] of doors(nest(depth))) {
      const answer = await session.ask(method, path, { raw, headers: json })
      expect([method, path, depth, answer.status]).toEqual([method, path, depth, 422])
      expect(answer.body.detail).toContain('nested deeper')
    }
  }
  for (const [method, path, raw] of doors(nest(deepest))) {
    expect((await session.ask(method, path, { raw, headers: json })).status).toBeLessThan(300)
  }
  expect((await session.ask('GET', '/state/k')).text).toBe(nest(deepest))
  expect((await session.all('/log')).length).toBe(1)
  expect((await session.get('/commits/1')).ops).toHaveLength(1)
})

/** The limit, less the one level that a patch adds around it. */
const deepest = 99

it('C14 five megabytes of text, of state and of a thousand small messages come back byte for byte', {
  timeout: 120_000,
}, async () => {
  const session = await newSession()
  const text = `${'tool output — '.repeat(380_000)}🚀`
  expect(text.length).toBeGreaterThan(5 * 1024 * 1024)
  for (const read of await everywhere(session, text)) expect(read === JSON.stringify(text)).toBe(true)
  const small = Array.from({ length: 1000 }, (_, i) => ({
    op: 'log.append',
    payload: `${i}:${'é'.repeat(1500)}`,
  }))
  await session.wrote(small)
  const log = await session.all('/log?after=1')
  expect(log.map(({ payload }) => payload)).toEqual(small.map(({ payload }) => payload))
})

it('C14 sixteen megabytes in one value work, and one byte more is too large', {
  timeout: 120_000,
}, async () => {
  const session = await newSession()
  const most = 'x'.repeat(16 * 1024 * 1024 - 2)
  expect((await session.ask('PUT', '/state/k', { json: most })).status).toBe(201)
  expect((await session.get('/state/k')) === most).toBe(true)
  const over = await session.ask('PUT', '/state/k', { json: `${most}x` })
  expect([over.status, over.body.code, over.body.limit]).toEqual([413, 'too_large', 16 * 1024 * 1024])
})

it('C15 a result over the limit is refused with the limit, and the call is still pending, not half answered', async () => {
  const session = await newSession()
  await session.say({ id: 'c' }, { type: 'tool_call' })
  const output = 'x'.repeat(16 * 1024 * 1024)
  const refused = await session.say({ call_id: 'c', output }, { type: 'tool_result' })
  expect([refused.status, refused.body.limit, refused.body.pointer]).toEqual([
    413,
    16 * 1024 * 1024,
    '/payload',
  ])
  expect((await session.get('/log/pending')).items).toHaveLength(1)
  expect((await session.say({ call_id: 'c', error: 'too large' }, { type: 'tool_result' })).status).toBe(201)
  expect((await session.get('/log/pending')).items).toEqual([])
})
