// Bytes: how fast a large file goes in and comes back beside the floor, what memory it takes, and what a tree of small files
// costs as one push beside a request a file.

import { readFileSync, writeFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { packTar } from 'modern-tar'
import { Agent, request } from 'undici'
import { hex, sha256 } from '../src/client/bytes.ts'
import type { Figure, Suite } from './suite.ts'
import { type Edge, startBytesFloor, startLares } from './support/edges.ts'
import { median, ratios, spread } from './support/statistics.ts'

const MiB = 1024 * 1024
const large = 1024 * MiB
const files = 1000
const fileBytes = 4096

export const benchBytes: Suite = {
  name: 'bytes',
  about:
    'a file of 1 GiB beside a Worker that only streams; 1,000 small files as one push beside a request each',
  async run(stage) {
    const rounds = Math.max(2, Math.min(5, Math.floor(stage.rounds / 4)))
    return [...(await throughput(rounds)), ...(await pushes(rounds)), ...(await memory())]
  },
}

async function throughput(rounds: number): Promise<Figure[]> {
  const [lares, floor] = [await startLares(), await startBytesFloor()]
  try {
    const session = await sessionOn(lares)
    const up: Record<'lares' | 'floor', number[]> = { lares: [], floor: [] }
    const down: Record<'lares' | 'floor', number[]> = { lares: [], floor: [] }
    for (let round = 0; round < rounds; round++) {
      const sides = [
        { name: 'lares', edge: lares, path: `${session}/files/large-${round}` },
        { name: 'floor', edge: floor, path: '/large' },
      ] as const
      for (const { name, edge, path } of round % 2 === 0 ? sides : sides.toReversed()) {
        up[name].push(large / (await timed(() => upload(edge, path, large, round))))
        down[name].push(large / (await timed(() => download(edge, path, large))))
      }
    }
    return [
      ratio('upload of 1 GiB, of the floor’s throughput', up, 0.7),
      ratio('download of 1 GiB, of the floor’s throughput', down, 0.7),
    ]
  } finally {
    await lares.close()
    await floor.close()
  }
}

function ratio(what: string, { lares, floor }: Record<'lares' | 'floor', number[]>, least: number): Figure {
  const all = ratios(lares, floor)
  const rate = (values: number[]) => `${Math.round((median(values) * 1000) / MiB)} MiB/s`
  return {
    what,
    measured: median(all),
    unit: 'x',
    target: { atLeast: least },
    note: `${rate(lares)}, the floor ${rate(floor)}; ${spread(all)}`,
  }
}

async function pushes(rounds: number): Promise<Figure[]> {
  const lares = await startLares()
  try {
    const speedups: number[] = []
    let again = 0
    for (let round = 0; round < rounds; round++) {
      const session = await sessionOn(lares)
      const tree = await smallFiles(round)
      const single = await timed(async () => {
        for (const { bytes } of tree.slice(0, files))
          await ask(lares, 'PUT', `${session}/files/single/${bytes[0]}-${bytes[1]}-${bytes[2]}`, bytes)
      })
      const other = await sessionOn(lares)
      const pushed = await timed(() => push(lares, other, tree))
      again += await push(lares, other, tree)
      speedups.push(single / pushed)
    }
    return [
      {
        what: '1,000 files of 4 KiB as one push, times faster than 1,000 requests',
        measured: median(speedups),
        unit: 'x',
        target: { atLeast: 8 },
        note: spread(speedups),
      },
      {
        what: 'files uploaded by a second push of the same tree',
        measured: again,
        unit: 'files',
        target: { atMost: 0 },
      },
    ]
  } finally {
    await lares.close()
  }
}

interface SmallFile {
  sha256: string
  bytes: Uint8Array<ArrayBuffer>
}

async function smallFiles(seed: number): Promise<SmallFile[]> {
  const tree: SmallFile[] = []
  for (let i = 0; i < files; i++) {
    const bytes = new Uint8Array(fileBytes).fill(i & 255)
    bytes.set([i & 255, i >> 8, seed])
    tree.push({ sha256: hex(await sha256(bytes)), bytes })
  }
  return tree
}

/** What is missing, in one archive, and one commit that names all of it. Answers how many were sent. */
async function push(edge: Edge, session: string, tree: readonly SmallFile[]): Promise<number> {
  const digests = tree.map((file) => file.sha256)
  const { missing }: { missing: string[] } = JSON.parse(
    await ask(edge, 'POST', `${session}/blobs/missing`, JSON.stringify({ digests })),
  )
  const wanted = new Set(missing)
  const sent = tree.filter((file) => wanted.has(file.sha256))
  if (sent.length > 0) {
    const tar = await packTar(
      sent.map(({ sha256: name, bytes }) => ({ header: { name, size: bytes.length }, body: bytes })),
    )
    await ask(edge, 'POST', `${session}/blobs`, tar, 'application/x-tar')
  }
  const ops = tree.map(({ sha256: blob }, i) => ({ op: 'file.put', path: `tree/${i}`, blob }))
  await ask(edge, 'POST', `${session}/commits`, JSON.stringify({ ops }))
  return sent.length
}

/** The runtime's highest memory in an upload and download, small and large, each on an edge of its own. */
async function memory(): Promise<Figure[]> {
  const own = await growth(startLares, sessionOn)
  const floor = await growth(startBytesFloor, async () => '')
  return [
    {
      what: 'peak memory at 1 GiB above that at 10 MiB',
      measured: own,
      unit: 'MiB',
      target: { atMost: 64 },
      note: `the local R2 shares the process: the floor grows by ${Math.round(floor)} MiB`,
    },
    {
      what: 'the same, above what the floor grows by',
      measured: own - floor,
      unit: 'MiB',
      target: { atMost: 64 },
    },
  ]
}

async function growth(start: () => Promise<Edge>, place: (edge: Edge) => Promise<string>): Promise<number> {
  const peaks: number[] = []
  for (const size of [10 * MiB, large]) {
    const edge = await start()
    try {
      const path = `${await place(edge)}/files/f`
      forgetPeak(edge.pid)
      await upload(edge, path, size, 10)
      await download(edge, path, size)
      peaks.push(peakOf(edge.pid) / MiB)
    } finally {
      await edge.close()
    }
  }
  const [small = Number.NaN, whole = Number.NaN] = peaks
  return whole - small
}

function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}

function peakOf(pid: number): number {
  const kib = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) * 1024
}

let sessions = 0

async function sessionOn(edge: Edge): Promise<string> {
  const path = `/v1/sessions/bytes-${++sessions}`
  await ask(edge, 'PUT', path, '{}')
  return path
}

const agent = new Agent({ bodyTimeout: 0, headersTimeout: 0 })

async function ask(
  edge: Edge,
  method: 'PUT' | 'POST',
  path: string,
  body: string | Uint8Array,
  type = 'application/json',
): Promise<string> {
  const headers = { authorization: `Bearer ${edge.key ?? ''}`, 'content-type': type }
  const answer = await request(`${edge.url}${path}`, { method, headers, body, dispatcher: agent })
  const text = await answer.body.text()
  if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`)
  return text
}

async function upload(edge: Edge, path: string, size: number, seed: number): Promise<void> {
  const answer = await request(`${edge.url}${path}`, {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${edge.key ?? ''}`,
      'content-length': String(size),
      'content-type': 'application/octet-stream',
    },
    body: Readable.from(pieces(size, seed)),
    dispatcher: agent,
  })
  const text = await answer.body.text()
  if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${text}`)
}

/** No two pieces alike, and no two seeds. */
function* pieces(size: number, seed: number): Generator<Uint8Array> {
  const piece = MiB
  for (let at = 0; at < size; at += piece) {
    const bytes = Buffer.alloc(Math.min(piece, size - at), 7)
    bytes.writeUInt32LE(at / piece)
    bytes.writeUInt32LE(seed, 4)
    yield bytes
  }
}

async function download(edge: Edge, path: string, size: number): Promise<void> {
  const headers = { authorization: `Bearer ${edge.key ?? ''}` }
  const answer = await request(`${edge.url}${path}`, { method: 'GET', headers, dispatcher: agent })
  let got = 0
  for await (const chunk of answer.body) got += chunk.length
  if (answer.statusCode !== 200 || got !== size)
    throw new Error(`${path}: ${answer.statusCode}, ${got} bytes`)
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await act()
  return performance.now() - began
}
