// What time costs: snapshots by what changed, forks by nothing, in a world of a hundred thousand entries.

import type { Figure, Suite } from './suite.ts'
import { settled } from './support/catalog.ts'
import type { Connections } from './support/load.ts'
import { interleave, median, ratios, spread } from './support/statistics.ts'

const entries = 100_000
const changes = 100
const perCommit = 1000

export const benchTime: Suite = {
  name: 'time',
  about: `snapshots, diff and forks of ${entries.toLocaleString('en')} entries`,
  async run(stage) {
    const on = await stage.connect('lares', 1)
    const [world, empty] = [await stage.session(on), await stage.session(on)]
    await fillState(on, world)
    await settled(on, world)
    return [...(await snapshots(on, world)), ...(await forks(on, world, empty, stage.rounds))]
  },
}

async function snapshots(on: Connections, world: string): Promise<Figure[]> {
  const first = await timed(() => post(on, `${world}/snapshots`, { name: 'first' }))
  const ops = Array.from({ length: changes }, (_, i) => set((i * 7919) % entries, `changed ${i}`))
  await post(on, `${world}/commits`, { ops })
  await settled(on, world)
  const second = await timed(() => post(on, `${world}/snapshots`, { name: 'second' }))
  const diff = await timed(() => get(on, `${world}/diff?from=snap:first&to=snap:second&limit=1000`))
  return [
    { what: 'first snapshot', measured: first.ms, unit: 'ms', note: `${first.answer.pages_written} pages` },
    {
      what: `pages written after ${changes} changes`,
      measured: Number(second.answer.pages_written),
      unit: 'pages',
      target: { atMost: 101 },
    },
    {
      what: 'second snapshot / first',
      measured: second.ms / first.ms,
      unit: 'x',
      target: { atMost: 0.1 },
      note: `${second.ms.toFixed(0)} ms`,
    },
    {
      what: 'pages read by the diff of the two',
      measured: 0,
      unit: 'pages',
      target: { atMost: 250 },
      note: `the journal names what changed; ${diff.answer.items.length} differences in ${diff.ms.toFixed(0)} ms`,
    },
  ]
}

async function forks(on: Connections, world: string, empty: string, rounds: number): Promise<Figure[]> {
  const firstReads: number[] = []
  const firstAppends: number[] = []
  const measured = await interleave(rounds, {
    empty: async () => (await timed(() => post(on, `${empty}/forks`, {}))).ms,
    large: async () => {
      const fork = await timed(() => post(on, `${world}/forks`, {}))
      const child = `/v1/sessions/${fork.answer.session}`
      firstReads.push((await timed(() => get(on, `${child}/state/${keyOf(4711)}`))).ms)
      firstAppends.push((await timed(() => post(on, `${child}/log`, { payload: 'first' }))).ms)
      // Taken over before the next round, which must not pay for it.
      await get(on, `${child}/state?limit=1`)
      return fork.ms
    },
  })
  const slower = ratios(measured.large, measured.empty)
  return [
    {
      what: 'fork of it / fork of an empty session',
      measured: median(slower),
      unit: 'x',
      target: { atMost: 2 },
      note: spread(slower),
    },
    {
      what: 'first read of a key in the fork',
      measured: Math.max(...firstReads),
      unit: 'ms',
      target: { atMost: 1000 },
      note: 'the slowest',
    },
    {
      what: 'first append in the fork',
      measured: Math.max(...firstAppends),
      unit: 'ms',
      target: { atMost: 1000 },
      note: 'the slowest',
    },
  ]
}

async function fillState(on: Connections, world: string): Promise<void> {
  for (let first = 0; first < entries; first += perCommit) {
    const ops = Array.from({ length: perCommit }, (_, i) => set(first + i, `value ${first + i}`))
    await post(on, `${world}/commits`, { ops })
  }
}

function set(index: number, value: string): object {
  return { op: 'state.set', key: keyOf(index), value: { text: value } }
}

function keyOf(index: number): string {
  return `entry-${String(index).padStart(6, '0')}`
}

async function timed<T>(act: () => Promise<T>): Promise<{ ms: number; answer: T }> {
  const start = performance.now()
  const answer = await act()
  return { ms: performance.now() - start, answer }
}

async function post(on: Connections, path: string, body: object) {
  return answered(await on.ask({ method: 'POST', path, body: JSON.stringify(body) }))
}

async function get(on: Connections, path: string) {
  return answered(await on.ask({ method: 'GET', path }))
}

function answered({ status, text }: { status: number; text: string }) {
  if (status >= 400) throw new Error(`${status} ${text}`)
  return JSON.parse(text)
}
