// Worlds with everything in them, and their archives.

import { env, exports } from 'cloudflare:workers'
import { createHash } from 'node:crypto'
import { packTar, unpackTar } from 'modern-tar'
import { type Answer, freshName, TestWorld } from '../support/world.ts'

/** A world with something of every kind: large and small values, copies, deletes, reverts with cuts, a merge, a fork's line. */
export async function richWorld(name = freshName()): Promise<TestWorld> {
  const world = await TestWorld.create(name)
  await world.ok('PATCH', '', { title: 'A world — “täglich”', labels: { team: 'docs', __proto__x: 'y' } })
  await world.commit(
    { op: 'log.append', payload: { text: 'one' }, key: 'k1' },
    { op: 'state.set', key: 'plan', value: { steps: [1, 2.5, 'drei'], __proto__: null } },
    { op: 'state.set', key: '', value: null, from: ['log:1'] },
  )
  await world.putFile('notes/a.txt', 'first\n')
  await world.commit({
    op: 'log.append',
    type: 'tool_call',
    payload: { id: 'c1', name: 'x', input: {} },
    parent: 1,
  })
  await world.set('large', `${'g'.repeat(300_000)}é`)
  await world.append({ big: '\u0001"\\'.repeat(30_000) })
  await world.putFile('notes/b.bin', 'x'.repeat(90_000))
  await world.commit(
    { op: 'file.copy', path: 'notes/a.txt', to: 'copy.txt' },
    { op: 'file.move', path: 'notes/b.bin', to: 'b.bin' },
    { op: 'state.delete', key: 'absent' },
  )
  await world.commit(
    { op: 'state.set', key: 'plan', value: 'second' },
    { op: 'log.append', payload: 2, lane: 'inbox' },
  )
  await world.ok('PUT', '/tables/tasks', {
    columns: { name: { type: 'string', required: true, unique: true }, cost: 'float', shot: 'file' },
    key: 'name',
  })
  await world.ok('POST', '/tables/tasks/rows', {
    rows: [
      { name: 'a', cost: 1.5 },
      { name: 'b', cost: 2 },
    ],
  })
  await world.ok('POST', '/tables/tasks/update', { where: { name: 'a' }, set: { cost: 3 } })
  await world.ok('POST', '/tables/tasks/update', { where: { name: 'nobody' }, set: { cost: 3 } })
  const shot = (await world.all('/files')).find(({ path }) => path === 'copy.txt')?.blob
  await world.ok('POST', '/tables/tasks/update', { where: { name: 'b' }, set: { shot } })
  await world.ok('POST', '/memories', { id: 'm1', text: 'The harbour lies north of the mill', tags: ['map'] })
  await world.ok('POST', '/memories', { id: 'm2', text: 'Forgotten soon' })
  await world.call('DELETE', '/memories/m2')
  await world.ok('PUT', '/views/dear', { sql: 'SELECT name FROM tasks WHERE cost > 2' })
  const { version } = await world.ok('GET', '')
  await world.commit({ op: 'state.delete', key: 'large' }, { op: 'log.append', payload: 'to be cut' })
  await world.set('plan', 'third')
  await world.ok('POST', '/revert', { to: version })
  const { session } = await world.ok('POST', '/forks', {})
  const child = new TestWorld(session)
  await child.commit(
    { op: 'log.append', payload: 'from the child' },
    { op: 'state.set', key: 'merged', value: [] },
  )
  await world.append('of the parent')
  await world.ok('POST', '/merge', { from: session })
  await world.commit({ op: 'state.set', key: 'many', value: 0, from: ['state:plan@3', 'file:copy.txt'] })
  return world
}

export async function archiveOf(world: TestWorld, query = ''): Promise<Uint8Array<ArrayBuffer>> {
  const response = await ask('GET', `/v1/sessions/${world.name}/export${query}`)
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  return new Uint8Array(await response.arrayBuffer())
}

export async function importInto(
  name: string,
  archive: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await ask('POST', `/v1/import?session=${encodeURIComponent(name)}`, archive, {
    'content-type': 'application/x-tar',
    ...headers,
  })
  const text = await response.text()
  return { status: response.status, body: JSON.parse(text), headers: response.headers }
}

export function ask(
  method: string,
  path: string,
  body?: BodyInit,
  headers: Record<string, string> = {},
): Promise<Response> {
  return exports.default.fetch(`https://lares.test${path}`, {
    method,
    headers: { authorization: `Bearer ${env.LARES_ROOT_KEY}`, ...headers },
    ...(body === undefined ? {} : { body }),
  })
}

export interface Member {
  name: string
  data: Uint8Array<ArrayBuffer>
}

export async function membersOf(archive: Uint8Array<ArrayBuffer>): Promise<Member[]> {
  const entries = await unpackTar(archive, { strict: true })
  return entries.map(({ header, data }) => ({ name: header.name, data: data ?? new Uint8Array() }))
}

export function jsonOf(members: readonly Member[], name: string) {
  const member = members.find((one) => one.name === name)
  return JSON.parse(new TextDecoder().decode(member?.data))
}

/** Everything that a reader can see of a world's history. */
export async function historyOf(world: TestWorld): Promise<object> {
  const described = await world.ok('GET', '')
  const { session: _, lease: _lease, origin: _origin, retention: _retention, ...about } = described
  const versions: object[] = []
  for (let version = 0; version <= described.version; version++)
    versions.push(await everything(world, version))
  const commits: object[] = []
  for (let version = 1; version <= described.version; version++)
    commits.push(await world.ok('GET', `/commits/${version}`))
  return { about, versions, commits }
}

/** All that can be read of one version. */
export async function everything(world: TestWorld, version: number): Promise<object> {
  return {
    state: await world.all(`/state?at=${version}`),
    files: await world.all(`/files?at=${version}`),
    log: await world.all(`/log?at=${version}&view=all`),
    active: (await world.all(`/log?at=${version}`)).map(({ seq }) => seq),
    tables: await world.all(`/tables?at=${version}`),
    rows: (await world.call('GET', `/tables/tasks/rows?at=${version}`)).body.items ?? null,
    memories: await world.all(`/memories?at=${version}`),
    views: await world.all(`/views?at=${version}`),
    pending: await world.all(`/log/pending?at=${version}`),
  }
}

/** A tar of members, as a tool that knows nothing of archives would write it. */
export function tarOf(members: readonly Member[]): Promise<Uint8Array<ArrayBuffer>> {
  return packTar(
    members.map(({ name, data }) => ({
      header: { name, size: data.length, type: 'file', mtime: new Date(0) },
      body: data,
    })),
  )
}

/** The same members under an end that fits them: what only a forger takes the trouble to do. */
export async function forged(members: readonly Member[]): Promise<Uint8Array<ArrayBuffer>> {
  const before = members.filter(({ name }) => name !== 'end.json')
  const lines = before.map(({ name, data }) => `${name} ${sha256(data)}\n`)
  const end = { ...jsonOf(members, 'end.json'), members: before.length, sha256: sha256(lines.join('')) }
  return tarOf([...before, { name: 'end.json', data: bytesOf(JSON.stringify(end)) }])
}

export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new TextEncoder().encode(text))
}

export function textOf(data: Uint8Array): string {
  return new TextDecoder().decode(data)
}

export function sha256(...parts: (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}
