import { describe, expect, it } from 'vitest'
import { request, TestWorld } from '../support/world.ts'
import { archiveOf, ask, jsonOf, membersOf, richWorld, sha256 } from './support.ts'

describe('an export', () => {
  it('is a tar with head, manifest, blobs, pages, journal and end, each blob once', async () => {
    const world = await richWorld()
    const members = await membersOf(await archiveOf(world, '?journal=true'))
    const names = members.map(({ name }) => name)
    expect(names.slice(0, 2)).toEqual(['lares.json', 'manifest.json'])
    expect(names.at(-1)).toBe('end.json')
    expect(new Set(names).size).toBe(names.length)
    const groups = names.map((name) => name.replace(/[/.].*|-.*/, ''))
    expect([...new Set(groups)]).toEqual(['lares', 'manifest', 'blobs', 'pages', 'rows', 'journal', 'end'])
    for (const { name, data } of members)
      if (name.startsWith('blobs/')) expect(`blobs/${sha256(data)}`).toBe(name)
  })

  it('says the root of a snapshot of the same version, which is the SHA-256 of its manifest', async () => {
    const world = await richWorld()
    const { root, version } = await world.ok('POST', '/snapshots', { name: 's' })
    const members = await membersOf(await archiveOf(world, '?at=snap:s'))
    const head = jsonOf(members, 'lares.json')
    expect(head).toMatchObject({ root, version, journal: false })
    expect(sha256(members[1]?.data ?? '')).toBe(root)
  })

  it('ends with the digest of all that came before', async () => {
    const members = await membersOf(await archiveOf(await richWorld(), '?journal=true'))
    const end = jsonOf(members, 'end.json')
    const lines = members.slice(0, -1).map(({ name, data }) => `${name} ${sha256(data)}\n`)
    expect(end.members).toBe(lines.length)
    expect(end.sha256).toBe(sha256(lines.join('')))
  })

  it('holds the world at a past version, and nothing that came later', async () => {
    const world = await TestWorld.create()
    await world.set('a', 1)
    await world.putFile('later.txt', 'later')
    await world.set('a', 2)
    const members = await membersOf(await archiveOf(world, '?at=1'))
    expect(members.map(({ name }) => name).filter((name) => name.startsWith('blobs/'))).toEqual([])
    expect(new TextDecoder().decode(members.find(({ name }) => name.startsWith('pages/'))?.data)).toContain(
      '"text":"1"',
    )
  })

  it('of an empty world is an archive too', async () => {
    const members = await membersOf(await archiveOf(await TestWorld.create(), '?journal=true'))
    expect(members.map(({ name }) => name)).toEqual(['lares.json', 'manifest.json', 'end.json'])
  })

  it('is refused for a version, a parameter or a session that is not there', async () => {
    const world = await TestWorld.create()
    expect((await world.call('GET', '/export?at=7')).body.code).toBe('no_such_version')
    expect((await world.call('GET', '/export?journal=yes')).body.code).toBe('invalid')
    expect((await request('GET', '/v1/sessions/nobody/export')).status).toBe(404)
  })

  it('takes the scope read: one of some files alone is not enough', async () => {
    const world = await TestWorld.create()
    const { token } = (
      await request('POST', '/v1/tokens', { session: world.name, scopes: ['files:a/'], expires_in: 60 })
    ).body
    const response = await ask('GET', `/v1/sessions/${world.name}/export`, undefined, {
      authorization: `Bearer ${token}`,
    })
    expect(response.status).toBe(403)
  })
})
