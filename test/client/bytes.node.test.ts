// The SDK and bytes of every size: it chooses the way, sends parts side by side, resumes, and pushes a tree in few requests.

import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Lares, type Session } from '../../src/client/index.ts'
import { type LocalEdge, startLocal } from '../../src/local/index.ts'

const MiB = 1024 * 1024

let edge: LocalEdge
let names = 0
const requests: string[] = []

beforeAll(async () => {
  edge = await startLocal()
})

afterAll(async () => {
  await edge.close()
})

function fresh(failing?: (path: string) => boolean): Promise<Session> {
  const lares = new Lares({
    url: edge.url,
    token: edge.key,
    retry: { tries: failing ? 1 : 8 },
    fetch: async (input, init) => {
      const path = new URL(String(input)).pathname
      requests.push(`${init?.method} ${path}`)
      if (failing?.(path)) throw new TypeError('the network failed')
      return fetch(input, init)
    },
  })
  return lares.sessions.create(`bytes-${++names}`)
}

test('content over 16 MiB goes in parts and comes back equal, with its progress told', async () => {
  const session = await fresh()
  const bytes = new Uint8Array(randomBytes(20 * MiB + 3))
  const told: number[] = []
  const written = await session.files.put('large.bin', new Blob([bytes]), {
    mode: '100755',
    progress: (sent) => told.push(sent),
  })
  expect(written).toMatchObject({ path: 'large.bin', size: bytes.length, mode: '100755' })
  expect(told).toHaveLength(3)
  expect(told.at(-1)).toBe(bytes.length)
  const back = await (await session.files.get('large.bin')).bytes()
  expect(Buffer.from(back).equals(bytes)).toBe(true)
})

test('a stream of unknown length is one request when it is short, parts when it is long', async () => {
  const session = await fresh()
  const bytes = new Uint8Array(randomBytes(18 * MiB))
  for (const size of [1000, bytes.length]) {
    const written = await session.files.put('s', new Blob([bytes.subarray(0, size)]).stream())
    expect(written.size).toBe(size)
    const back = await (await session.files.get('s')).bytes()
    expect(Buffer.from(back).equals(bytes.subarray(0, size))).toBe(true)
  }
})

test('an upload that broke off goes on where it was', async () => {
  let broken = true
  const session = await fresh((path) => broken && path.endsWith('/parts/3'))
  const bytes = new Uint8Array(randomBytes(20 * MiB))
  let upload = ''
  const options = { parallel: 1, begun: (id: string) => (upload = id) }
  await expect(session.files.upload(bytes, options)).rejects.toThrow()
  broken = false
  requests.length = 0
  const { size } = await session.files.upload(bytes, { resume: upload })
  expect(size).toBe(bytes.length)
  expect(requests.filter((one) => one.includes('/parts/'))).toEqual([expect.stringMatching(/parts\/3$/)])
})

test('a tree is pushed in few requests, and again in none for its bytes', async () => {
  const session = await fresh()
  const tree = Array.from({ length: 1200 }, (_, i) => ({ path: `src/f${i}.md`, content: `# file ${i}\n` }))
  requests.length = 0
  const first = await session.files.pushTree(tree, { message: 'all of it' })
  expect(first.uploaded).toBe(1200)
  expect(requests.length).toBeLessThanOrEqual(6)
  requests.length = 0
  expect(await session.files.pushTree(tree)).toMatchObject({ uploaded: 0, bytes: 0 })
  expect(requests.some((one) => one.endsWith('/blobs'))).toBe(false)
  const head = await session.files.head('src/f7.md')
  expect(head.type).toBe('text/markdown; charset=utf-8')
  expect(await (await session.files.get('src/f1199.md')).text()).toBe('# file 1199\n')
})

test('F8: a body shorter than its length is refused, and nothing is stored', async () => {
  const session = await fresh()
  for (const [declared, sent] of [
    [100, 3],
    [20 * MiB, 3 * MiB],
  ] as const) {
    const { hostname, port } = new URL(edge.url)
    const socket = connect(Number(port), hostname)
    socket.write(
      `PUT /v1/sessions/${session.id}/files/short HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${edge.key}\r\n`,
    )
    socket.write(`Content-Length: ${declared}\r\n\r\n`)
    socket.end(Buffer.alloc(sent))
    let answer = ''
    for await (const chunk of socket) answer += chunk
    expect(answer).toMatch(/^HTTP\/1.1 422 /)
    await expect(session.files.head('short')).rejects.toMatchObject({ status: 404 })
  }
})
