// A journal on its way in: what entries were, and the commits with their chain, whose digests are computed anew.

import { createHash, type Hash } from 'node:crypto'
import { unhex } from '../crypto.ts'
import { changeLine, genesis, headerLine } from '../protocol/digests.ts'
import {
  type ArchiveHead,
  type CommitLine,
  commitLine,
  type MoreLine,
  members,
  moreLine,
  type PastLine,
  pastKinds,
  pastLine,
} from '../snapshot/archive.ts'
import { compareBytes } from '../snapshot/order.ts'
import { type ArchiveReader, linesOf, refused } from './archive-reader.ts'
import { checkValues, stagedValue } from './intake.ts'
import type { Staging } from './staging.ts'

/** Values checked together. */
const checkedAtOnce = 500
/** Characters of one row of changes. */
const rowChars = 1_200_000

/** Reads all parts of what entries were; answers how many there were. */
export async function takePast(reader: ArchiveReader, staging: Staging, head: ArchiveHead): Promise<number> {
  let count = 0
  let last: PastLine | null = null
  for (let part = 1; (await reader.peek()) === members.past(part); part++) {
    const name = members.past(part)
    const lines: PastLine[] = []
    for (const line of linesOf(name, await reader.text(name), (value) => pastLine.parse(value))) {
      if (last !== null && order(last, line) >= 0)
        throw refused(name, `${line.kind}:${line.key} is out of order`)
      if (line.since < head.floor || line.until > head.version || line.until <= line.since)
        throw refused(name, `${line.kind}:${line.key} was there when the world was not`)
      last = line
      lines.push(line)
    }
    for (let i = 0; i < lines.length; i += checkedAtOnce)
      await takeSome(staging, name, lines.slice(i, i + checkedAtOnce))
    count += lines.length
  }
  return count
}

function order(a: PastLine, b: PastLine): number {
  const kinds = pastKinds.indexOf(a.kind) - pastKinds.indexOf(b.kind)
  return kinds || compareBytes(a.key, b.key) || a.since - b.since
}

async function takeSome(staging: Staging, name: string, lines: readonly PastLine[]): Promise<void> {
  for (const [kind, some] of Map.groupBy(lines, (line) => line.kind)) {
    await checkValues(staging, name, kind, some)
    for (const line of some) {
      const { key, since, until } = line
      await staging.past({ ...stagedValue(line), kind, key, since, until })
    }
  }
}

/** Reads all parts of the commits, up to the head; answers how many there were. */
export async function takeCommits(
  reader: ArchiveReader,
  staging: Staging,
  head: ArchiveHead,
): Promise<number> {
  const chain = new Chain(head, staging)
  for (let part = 1; (await reader.peek()) === members.commits(part); part++) {
    const name = members.commits(part)
    for (const line of linesOf(name, await reader.text(name), lineOf)) await chain.add(name, line)
  }
  chain.end()
  return chain.count
}

function lineOf(value: unknown): CommitLine | MoreLine {
  return typeof value === 'object' && value !== null && 'more' in value
    ? moreLine.parse(value)
    : commitLine.parse(value)
}

/** The chain as it comes: a commit is whole when the next begins. */
class Chain {
  readonly #head: ArchiveHead
  readonly #staging: Staging
  /** The commit being read, and the hash over its lines; none for the floor's own, whose digest is taken as given. */
  #commit: CommitLine | null = null
  #hash: Hash | null = null
  #parts = 0
  #name = members.commits(1)
  count = 0

  constructor(head: ArchiveHead, staging: Staging) {
    this.#head = head
    this.#staging = staging
  }

  async add(name: string, line: CommitLine | MoreLine): Promise<void> {
    this.#name = name
    if ('more' in line) await this.#goOn(line)
    else await this.#begin(line)
  }

  async #begin(line: CommitLine): Promise<void> {
    this.#finish()
    const before = this.#commit
    const { floor, version } = this.#head
    const wanted = before === null ? Math.max(floor, 1) : before.version + 1
    if (line.version !== wanted || line.version > version)
      throw refused(this.#name, `version ${line.version} where ${wanted} comes`)
    if (before !== null && (line.at < before.at || line.seq < before.seq))
      throw refused(this.#name, `version ${line.version} goes back in time`)
    if (floor > 0 && before === null) this.#hash = null
    else {
      const { at, actor, message, cause } = line
      const header = headerLine({
        previous: before?.digest ?? genesis,
        version: line.version,
        at,
        actor,
        message,
        cause: cause === null ? null : JSON.parse(cause),
      })
      this.#hash = createHash('sha256').update(`${header}\n`)
    }
    this.#commit = line
    this.#parts = 0
    this.count++
    const changes = this.#changes(line.changes)
    await this.#staging.commit({ ...line, at: Date.parse(line.at), digest: unhex(line.digest), changes })
  }

  async #goOn({ more, changes }: MoreLine): Promise<void> {
    if (this.#commit?.version !== more) throw refused(this.#name, `changes of version ${more} stand alone`)
    await this.#staging.more({ version: more, part: this.#parts++, changes: this.#changes(changes) })
  }

  #changes(changes: CommitLine['changes']): string {
    const lines = changes.map(([op, ref, digest, from]) =>
      changeLine({ op, ref, digest, ...(from === undefined ? {} : { from }) }),
    )
    for (const line of lines) this.#hash?.update(`${line}\n`)
    const text = `[${lines.join(',')}]`
    if (text.length > rowChars) throw refused(this.#name, 'a line of changes is too long', 'too_large')
    return text
  }

  #finish(): void {
    const commit = this.#commit
    if (commit === null || this.#hash === null) return
    if (this.#hash.digest('hex') !== commit.digest)
      throw refused(this.#name, `version ${commit.version} does not have its digest`, 'digest_mismatch')
    this.#hash = null
  }

  /** The last commit must be the one that the head names. */
  end(): void {
    this.#finish()
    const { version, digest, commit } = this.#head
    const last = this.#commit
    if (last === null && version > 0) throw refused(this.#name, 'missing: the archive was cut off here')
    if ((last?.version ?? 0) !== version || (last?.digest ?? genesis) !== digest)
      throw refused(this.#name, `the chain does not end at version ${version}`)
    const same =
      commit === null
        ? last === null
        : last !== null &&
          commit.at === last.at &&
          commit.actor === last.actor &&
          commit.message === last.message &&
          commit.cause === last.cause
    if (!same) throw refused(members.head, 'it tells of another last commit than the journal')
  }
}
