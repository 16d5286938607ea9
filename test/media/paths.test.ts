// Names of files: whatever a name may be it is one file's, and nothing else's.

import { describe, expect, it } from 'vitest'
import { Client } from './support.ts'

async function pathsOf(client: Client): Promise<string[]> {
  const { items } = await (await client.ask('/files?limit=1000')).json<{ items: { path: string }[] }>()
  return items.map((item) => item.path)
}

describe('a path', () => {
  const odd = [
    'my file.txt',
    'my+file.txt',
    'my%20file.txt',
    'a#b?c',
    `q"u'o.txt`,
    'two\nlines',
    'tab\there',
    'cat 😀.md',
    '\u00e9.md',
    'e\u0301.md',
    'A.md',
    'a.md',
    'dir/with/deep/name',
    '...',
    '.hidden',
    'a..b',
    `${'é'.repeat(511)}xy`,
    '__proto__',
    'back\\slash',
    '%2e%2e',
    '%',
    'https://x/y',
  ].filter((path) => !path.includes('//'))

  it('F1, F2: of any characters is a file of its own, through put, get, list, copy and tar', async () => {
    const client = await Client.make()
    for (const [i, path] of odd.entries()) {
      const put = await client.put(path, `file ${i}`)
      expect([path, put.status, (await put.json<{ path: string }>()).path]).toEqual([path, 201, path])
    }
    expect(new Set(await pathsOf(client))).toEqual(new Set(odd))
    for (const [i, path] of odd.entries()) expect(await (await client.get(path)).text()).toBe(`file ${i}`)
    const copies = odd.filter((path) => path.length < 200)
    const ops = copies.map((path) => ({ op: 'file.copy', path, to: `copy/${path}` }))
    expect((await client.json('POST', '/commits', { ops })).status).toBe(201)
    for (const path of copies)
      expect(await (await client.get(`copy/${path}`)).text()).toBe(`file ${odd.indexOf(path)}`)
    const { unpackTar } = await import('modern-tar')
    const tar = await (await client.ask('/files?format=tar')).arrayBuffer()
    const names = (await unpackTar(new Uint8Array(tar))).map((entry) => entry.header.name)
    expect(new Set(names)).toEqual(new Set([...odd, ...copies.map((path) => `copy/${path}`)]))
  })

  it('may have 1,024 bytes and no more', async () => {
    const client = await Client.make()
    expect((await client.put('x'.repeat(1024), 'a')).status).toBe(201)
    expect((await client.put('x'.repeat(1025), 'a')).status).toBe(422)
    expect((await client.put('é'.repeat(513), 'a')).status).toBe(422)
  })

  it('F3: never leads out of its session, in any disguise', async () => {
    const [one, other] = [await Client.make(), await Client.make()]
    await other.put('secret', 'not yours')
    const bad = [
      '..',
      '.',
      '../x',
      'a/../x',
      'a/./x',
      './x',
      '/x',
      'x/',
      'a//b',
      '..\\x',
      'a\\..\\b',
      'a\0b',
      '',
    ]
    for (const path of bad) {
      const ops = [{ op: 'file.put', path, blob: '0'.repeat(64) }]
      expect([path, (await one.json('POST', '/commits', { ops })).status]).toEqual([path, 422])
    }
    // A client's URL parser takes dot segments out by itself, encoded or not; what is below reaches the edge.
    const raw = [
      '..%2fx',
      '%2e%2e%2f%2e%2e%2fx',
      'a%2f..%2fx',
      '.%2fx',
      '..%5cx',
      '%00',
      '%ff',
      '%zz',
      '%2fx',
    ]
    for (const path of raw) {
      for (const method of ['GET', 'PUT']) {
        const asked = { method, body: method === 'PUT' ? 'x' : null }
        const answer = await one.ask(`/files/${path}`, asked)
        expect([path, method, [404, 422].includes(answer.status)]).toEqual([path, method, true])
      }
    }
    expect(await pathsOf(one)).toEqual([])
  })

  it('F10: is served as an attachment that nothing runs, with its name whole in the header', async () => {
    const client = await Client.make()
    const script = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    const files: [string, Record<string, string>][] = [
      ['x.svg', { 'content-type': 'image/svg+xml' }],
      ['x.html', { 'content-type': 'text/html' }],
      ['none', {}],
      [`a"b\r\nSet-Cookie: x=1;é😀.html`, { 'content-type': 'text/html' }],
    ]
    for (const [path, headers] of files) {
      await client.put(path, script, headers)
      const got = await client.get(path)
      expect(got.headers.get('x-content-type-options')).toBe('nosniff')
      expect(got.headers.get('content-security-policy')).toMatch(/sandbox/)
      expect(got.headers.get('set-cookie')).toBeNull()
      const disposition = got.headers.get('content-disposition') ?? ''
      expect(disposition).toMatch(
        /^attachment; filename="[\x20-\x7e]*"; filename\*=UTF-8''[\w!#$&+.^`|~%-]+$/,
      )
      expect(decodeURIComponent(disposition.split("''")[1] ?? '')).toBe(path)
    }
  })
})
