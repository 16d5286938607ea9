// Verifies an archive with nothing but SHA-256 and JSON: written from docs/archive.md and docs/digests.md, and importing nothing
// of ours. Values are small here, so it holds the archive whole.

import { createHash } from 'node:crypto'

const sha256 = (...parts: (string | Uint8Array)[]): string => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

interface Item {
  key: string
  digest: string
  salt: string
  text: string | null
  blob: string | null
}

export interface Verified {
  root: string
  digest: string
  values: number
  commits: number
  erased: number
}

/** @throws at the first thing that is not as it should be */
export function verifyArchive(archive: Uint8Array): Verified {
  const members = untar(archive)
  const text = (name: string) => {
    const data = members.get(name)
    if (data === undefined) throw new Error(`${name} is missing`)
    return Buffer.from(data).toString('utf8')
  }
  checkEnd(members, text('end.json'))
  const head = JSON.parse(text('lares.json'))
  if (sha256(text('manifest.json')) !== head.root) throw new Error('the root is another')
  for (const [name, data] of members)
    if (name.startsWith('blobs/') && name !== `blobs/${sha256(data)}`)
      throw new Error(`${name} has other bytes`)
  const found = { root: head.root, digest: head.digest, values: 0, commits: 0, erased: 0 }
  const check = (kind: string, item: Item) => {
    if (item.salt === '') found.erased++
    else checkValue(kind, item, (blob) => text(`blobs/${blob}`))
    found.values++
  }
  for (const [kind, , count, name] of JSON.parse(text('manifest.json')).pages) {
    const items: Item[] = linesOf(text(`pages/${name}`))
    const named = items.map(({ key, digest }) => `${JSON.stringify([`${kind}:${key}`, digest])}\n`)
    if (items.length !== count || sha256(named.join('')) !== name)
      throw new Error(`the page ${name} is another`)
    for (const item of items) check(kind, item)
  }
  for (const name of members.keys()) {
    if (!name.startsWith('journal/past-')) continue
    for (const line of linesOf(text(name)) as (Item & { kind: string })[]) check(line.kind, line)
  }
  if (head.journal) found.commits = checkChain(members, head)
  return found
}

function checkEnd(members: Map<string, Uint8Array>, text: string): void {
  const end = JSON.parse(text)
  const before = [...members].filter(([name]) => name !== 'end.json')
  const lines = before.map(([name, data]) => `${name} ${sha256(data)}\n`)
  if (end.members !== before.length || end.sha256 !== sha256(lines.join('')))
    throw new Error('the end does not fit what came before')
}

function checkValue(
  kind: string,
  { key, digest, salt, text, blob }: Item,
  large: (blob: string) => string,
): void {
  let value = text
  if (blob !== null && kind !== 'log') value = large(blob)
  // Of a large event the payload lies apart; `null` stands in its place, and no member but the type follows it.
  else if (blob !== null && text !== null) {
    const at = text.lastIndexOf('"payload":null') + '"payload":'.length
    value = text.slice(0, at) + large(blob) + text.slice(at + 'null'.length)
  }
  if (value === null || sha256(Buffer.from(salt, 'hex'), value) !== digest)
    throw new Error(`${kind}:${key} does not have its digest`)
}

function checkChain(members: Map<string, Uint8Array>, head: { digest: string; floor: number }): number {
  const names = [...members.keys()].filter((name) => name.startsWith('journal/commits-')).sort()
  const lines = names.flatMap((name) => linesOf(Buffer.from(members.get(name) ?? []).toString('utf8')))
  let previous = '0'.repeat(64)
  let count = 0
  for (let i = 0; i < lines.length; ) {
    const { version, at, actor, message, cause, digest, changes } = lines[i++]
    const all = [...changes]
    for (; lines[i]?.more === version; i++) all.push(...lines[i].changes)
    const header = JSON.stringify(sorted({ actor, at, cause, message, previous, version }))
    const hashed = [header, ...all.map((change) => JSON.stringify(change))]
      .map((line) => `${line}\n`)
      .join('')
    // The oldest commit of a world that was restored has no predecessor.
    if (version !== head.floor && sha256(hashed) !== digest)
      throw new Error(`version ${version} breaks the chain`)
    previous = digest
    count++
  }
  if (previous !== head.digest) throw new Error('the chain does not end at the head')
  return count
}

// biome-ignore lint/suspicious/noExplicitAny: lines of many shapes
function linesOf(text: string): any[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

/** RFC 8785 for what a header holds: no number in it needs more than JSON.stringify. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]))
}

function untar(archive: Uint8Array): Map<string, Uint8Array> {
  const members = new Map<string, Uint8Array>()
  const field = (header: Uint8Array, at: number, length: number) =>
    Buffer.from(header.subarray(at, at + length))
      .toString('latin1')
      .replace(/\0.*$/s, '')
  for (let at = 0; archive[at] !== 0; ) {
    const header = archive.subarray(at, at + 512)
    const size = Number.parseInt(field(header, 124, 12), 8)
    members.set(field(header, 0, 100), archive.subarray(at + 512, at + 512 + size))
    at += 512 + Math.ceil(size / 512) * 512
  }
  return members
}
