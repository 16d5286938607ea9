// An archive that is cut, altered or made up: refused by the name of what is wrong, and nothing left behind.

import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { type Answer, freshName, TestWorld } from '../support/world.ts'
import {
  archiveOf,
  bytesOf,
  forged,
  historyOf,
  importInto,
  jsonOf,
  type Member,
  membersOf,
  sha256,
  tarOf,
  textOf,
} from './support.ts'

/** Few bytes, and something of all there is. */
async function smallWorld(): Promise<TestWorld> {
  const world = await TestWorld.create()
  await world.commit({ op: 'log.append', payload: 'one', key: 'k' }, { op: 'state.set', key: 'a', value: 1 })
  await world.putFile('f', 'bytes')
  const { version } = await world.ok('GET', '')
  await world.commit({ op: 'state.set', key: 'a', value: 2 }, { op: 'log.append', payload: 'two' })
  await world.ok('POST', '/revert', { to: version })
  return world
}

/** Nothing under this name: no session, and no table in its object. */
async function expectNothing(name: string): Promise<void> {
  const tables = await runInDurableObject(
    env.SESSION.get(env.SESSION.idFromName(`default/${name}`)),
    (_, { storage }) =>
      storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'").toArray(),
  )
  expect(tables).toEqual([])
  expect((await new TestWorld(name).call('GET', '')).status).toBe(404)
}

async function expectRefused(archive: Uint8Array<ArrayBuffer>): Promise<Answer> {
  const name = freshName('h')
  const answer = await importInto(name, archive)
  if (![412, 413, 422].includes(answer.status))
    throw new Error(`not refused: ${answer.status} ${JSON.stringify(answer.body)}`)
  await expectNothing(name)
  return answer
}

describe('A6 an archive that is cut off', () => {
  it('at any block is refused, says where, and leaves nothing', async () => {
    const archive = await archiveOf(await smallWorld(), '?journal=true')
    for (let end = 0; end < archive.length; end += 512) {
      const { body } = await expectRefused(archive.slice(0, end))
      expect(body.detail).toMatch(/cut off|damaged/)
      expect(body.pointer).toMatch(
        /^(the archive|lares\.json|manifest\.json|end\.json|(blobs|pages|rows|journal)\/.+)$/,
      )
    }
  })

  it('inside a block is refused too', async () => {
    const archive = await archiveOf(await smallWorld(), '?journal=true')
    for (let end = 100; end < archive.length; end += 997) await expectRefused(archive.slice(0, end))
  })

  it('after a whole member and closed like a tar is refused by the name of what is missing', async () => {
    const members = await membersOf(await archiveOf(await smallWorld(), '?journal=true'))
    for (let count = 0; count < members.length; count++) {
      const { body } = await expectRefused(await tarOf(members.slice(0, count)))
      const missing = members[count]?.name ?? ''
      // Whether there is a blob more, or a past, only the end tells.
      const named = missing.startsWith('blobs/')
        ? 'pages/'
        : missing.startsWith('journal/')
          ? 'journal/'
          : missing
      expect(body.detail).toContain(named)
    }
  })

  it('K3 can be imported whole afterwards, under the same name', async () => {
    const world = await smallWorld()
    const archive = await archiveOf(world, '?journal=true')
    const name = freshName('h')
    expect((await importInto(name, archive.slice(0, 5000))).status).toBe(422)
    expect((await importInto(name, archive)).status).toBe(201)
    expect(await historyOf(new TestWorld(name))).toEqual(await historyOf(world))
  })
})

describe('an archive with one byte changed', () => {
  it('is refused by name, or is the very same world', async () => {
    const world = await smallWorld()
    const was = await historyOf(world)
    const archive = await archiveOf(world, '?journal=true')
    let refusals = 0
    for (let at = 0; at < archive.length; at += 149) {
      const altered = archive.slice()
      altered[at] = (altered[at] ?? 0) ^ (1 << (at % 8))
      const name = freshName('h')
      const answer = await importInto(name, altered)
      if (answer.status === 201) expect(await historyOf(new TestWorld(name))).toEqual(was)
      else {
        refusals++
        expect([412, 413, 422]).toContain(answer.status)
        expect(answer.body.pointer).toBeTruthy()
        await expectNothing(name)
      }
    }
    expect(refusals).toBeGreaterThan(30)
  })
})

describe('an archive that was put together by hand', () => {
  const load = async () => membersOf(await archiveOf(await smallWorld(), '?journal=true'))
  const change = (members: Member[], name: RegExp, edit: (text: string) => string): Member[] =>
    members.map((member) =>
      name.test(member.name) ? { ...member, data: bytesOf(edit(textOf(member.data))) } : member,
    )

  it('is taken when it is right, whatever wrote the tar', async () => {
    const members = await load()
    expect((await importInto(freshName('h'), await tarOf(members))).status).toBe(201)
    expect((await importInto(freshName('h'), await forged(members))).status).toBe(201)
  })

  it('is refused when a member is missing, comes twice, or stands elsewhere', async () => {
    const members = await load()
    for (const [i, member] of members.entries()) {
      if (member.name === 'end.json') continue
      const rest = members.filter((_, j) => j !== i)
      expect((await expectRefused(await forged(rest))).body.detail).toMatch(
        /\.json|blobs\/|pages\/|rows\/|journal/,
      )
      await expectRefused(await forged([...members.slice(0, i), member, ...members.slice(i)]))
      if (i > 0) await expectRefused(await forged([member, ...rest]))
      if (i < members.length - 2)
        await expectRefused(await forged([...rest.slice(0, -1), member, ...rest.slice(-1)]))
    }
  })

  it('is refused when it holds anything else', async () => {
    const members = await load()
    for (const name of [
      '../etc/passwd',
      '/lares.json',
      'pages/../x',
      'blobs/short',
      'notes.txt',
      `blobs/${'0'.repeat(64)}`,
    ]) {
      for (const at of [0, 2, 4, members.length]) {
        const data = bytesOf('x')
        const { body } = await expectRefused(
          await forged([...members.slice(0, at), { name, data }, ...members.slice(at)]),
        )
        expect(body.pointer.length).toBeLessThan(300)
      }
    }
    const extra = bytesOf('named by nothing')
    const blob = { name: `blobs/${sha256(extra)}`, data: extra }
    const end = jsonOf(members, 'end.json')
    const counted = change(members, /^end/, () => JSON.stringify({ ...end, blobs: end.blobs + 1 }))
    const { body } = await expectRefused(await forged([...counted.slice(0, 2), blob, ...counted.slice(2)]))
    expect(body.detail).toContain('named by nothing')
  })

  it('is refused when a value, a salt, a key or a name is another, though its end was made to fit', async () => {
    const members = await load()
    for (const [name, from, to] of [
      [/^pages/, /"text":"1"/, '"text":"3"'],
      [/^pages/, /"salt":"./, '"salt":"z'],
      [/^pages/, /"key":"a"/, '"key":"b"'],
      [/^pages/, /"size":5/, '"size":6'],
      [/^journal\/past/, /"text":"2"/, '"text":"3"'],
      [/^journal\/past/, /"until":\d+/, '"until":99'],
      [/^journal\/past/, /"since":\d+/, '"since":2'],
      [/^journal\/commits/, /"actor":"root"/, '"actor":"else"'],
      [/^journal\/commits/, /"op"|"state\.set"/, '"state.add"'],
      [/^journal\/commits/, /"at":"2/, '"at":"1'],
      [/^journal\/commits/, /"seq":2/, '"seq":1'],
      [/^rows/, /"since":\d+/, '"since":2'],
      [/^rows/, /"at":"2/, '"at":"1'],
      [/^rows/, /"version":\d+/, '"version":2'],
      [/^lares/, /"digest":"./, '"digest":"g'],
      [/^lares/, /"root":"[0-9a-f]{64}"/, `"root":"${'0'.repeat(64)}"`],
      [/^lares/, /"version":\d+/, '"version":3'],
      [/^lares/, /"lares":1/, '"lares":2'],
      [/^lares/, /"events":\d+/, '"events":1'],
      [/^manifest/, /"file"/, '"state"'],
      [/^end/, /"past":\d+/, '"past":9'],
    ] as const) {
      const altered = change(members, name, (text) => text.replace(from, to))
      expect(altered, `${name} ${from}`).not.toEqual(members)
      const { body } = await expectRefused(await forged(altered))
      expect(body.detail).toBeTruthy()
    }
  })

  it('is refused when it claims what no archive has: sizes, links, folders, other bytes', async () => {
    const archive = await archiveOf(await smallWorld())
    const withHeader = (edit: (header: Uint8Array) => void) => {
      const altered = archive.slice()
      const header = altered.subarray(0, 512)
      edit(header)
      header.fill(32, 148, 156)
      const sum = header.reduce((total, byte) => total + byte, 0)
      header.set(bytesOf(`${sum.toString(8).padStart(6, '0')}\0 `), 148)
      return altered
    }
    const huge = withHeader((header) => header.set(bytesOf('77777777777\0'), 124))
    expect((await expectRefused(huge)).body.code).toBe('too_large')
    for (const type of ['1', '2', '3', '5', '6'])
      await expectRefused(withHeader((header) => header.set(bytesOf(type), 156)))
    await expectRefused(bytesOf('not a tar at all'))
    await expectRefused(new Uint8Array(10_240))
    await expectRefused(new Uint8Array())
  })

  it('names the line that is wrong', async () => {
    const members = await load()
    const torn = change(members, /^journal\/commits/, (text) => text.slice(0, -20))
    expect((await expectRefused(await forged(torn))).body.detail).toMatch(
      /journal\/commits-00000001\.jsonl: line \d+ /,
    )
  })
})
