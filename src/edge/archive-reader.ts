// An archive on its way in, member by member. What cannot be a part of one is refused by its name before it is held.

import { createHash } from 'node:crypto'
import { createTarDecoder, type ParsedTarEntry } from 'modern-tar'
import { hashes, hex } from '../crypto.ts'
import { type Source, sourceOf } from '../media/stream.ts'
import { type ErrorCode, fail } from '../protocol/errors.ts'
import { memberBytes } from '../snapshot/archive.ts'
import { Problem } from './reply.ts'

/** Refuses an archive, with the member in which something is wrong. */
export function refused(member: string, detail: string, code: ErrorCode = 'invalid'): Problem {
  return new Problem(fail(code, `${member}: ${detail}`, { pointer: member }))
}

export class ArchiveReader {
  readonly #entries: ReadableStreamDefaultReader<ParsedTarEntry>
  readonly #fed: Promise<void>
  readonly #all = createHash('sha256')
  #members = 0
  #ahead: ParsedTarEntry | null | undefined
  #last = 'the archive'
  /** Why no more can be read; what failed because of it only says so less well. */
  broken: Problem | null = null

  constructor(archive: ReadableStream<Uint8Array>) {
    const decoder = createTarDecoder({ strict: true })
    this.#entries = decoder.readable.getReader()
    this.#fed = archive.pipeTo(decoder.writable)
    this.#fed.catch(() => {})
  }

  /** The name of the next member; null at the end of the archive. */
  async peek(): Promise<string | null> {
    if (this.#ahead === undefined) {
      const { value, done } = await this.#reading(this.#last, () => this.#entries.read())
      this.#ahead = done ? null : value
      if (this.#ahead) this.#check(this.#ahead)
    }
    return this.#ahead?.header.name ?? null
  }

  /** The next member, which must be the one that is named, as text. */
  async text(name: string): Promise<string> {
    const { header, body } = await this.#take(name)
    if (header.size > memberBytes) throw refused(name, `larger than ${memberBytes} bytes`, 'too_large')
    const bytes = await this.#reading(name, () => new Response(body).arrayBuffer())
    this.note(name, hex(hashes.sha256(new Uint8Array(bytes))))
    try {
      return decoder.decode(bytes)
    } catch {
      throw refused(name, 'not UTF-8')
    }
  }

  /** The next member as a stream. Whoever reads it notes what it was. */
  async stream(name: string): Promise<{ size: number; source: Source }> {
    const { header, body } = await this.#take(name)
    const source = sourceOf(body)
    return {
      size: header.size,
      source: {
        next: () => this.#reading(name, () => source.next()),
        cancel: () => source.cancel(),
      },
    }
  }

  note(name: string, digest: string): void {
    this.#all.update(`${name} ${digest}\n`)
    this.#members++
  }

  /** How many members there were so far, and the digest over them. */
  sofar(): { members: number; sha256: string } {
    return { members: this.#members, sha256: this.#all.copy().digest('hex') }
  }

  /** Nothing may follow. */
  async end(): Promise<void> {
    const more = await this.peek()
    if (more !== null) throw refused(more, 'nothing may come after the end')
    await this.#reading(this.#last, () => this.#fed)
  }

  async cancel(): Promise<void> {
    await this.#entries.cancel('refused').catch(() => {})
  }

  async #take(name: string): Promise<ParsedTarEntry> {
    const next = await this.peek()
    if (next === null || !this.#ahead) throw refused(name, 'missing: the archive was cut off here')
    if (next !== name) throw refused(shown(next), `this is no place for it; ${name} comes here`)
    const entry = this.#ahead
    this.#ahead = undefined
    this.#last = name
    return entry
  }

  #check({ header }: ParsedTarEntry): void {
    if (header.type !== 'file') throw refused(shown(header.name), `a ${header.type} is no part of an archive`)
    if (!Number.isSafeInteger(header.size) || header.size < 0)
      throw refused(shown(header.name), 'no size is like this')
  }

  async #reading<T>(name: string, read: () => Promise<T>): Promise<T> {
    try {
      return await read()
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      this.broken = refused(name, `cut off or damaged at this place (${why})`)
      throw this.broken
    }
  }
}

/** A name as it may be repeated to whoever sent it. */
function shown(name: string): string {
  return name.length > 200 ? `${name.slice(0, 200)}…` : name
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Each line of a member of JSON lines, checked. */
export function* linesOf<T>(name: string, text: string, read: (value: unknown) => T): Generator<T> {
  let number = 0
  for (let at = 0; at < text.length; ) {
    number++
    const end = text.indexOf('\n', at)
    if (end === -1) throw refused(name, `line ${number} does not end`)
    yield readLine(name, number, text.slice(at, end), read)
    at = end + 1
  }
}

function readLine<T>(name: string, number: number, line: string, read: (value: unknown) => T): T {
  try {
    return read(JSON.parse(line))
  } catch (error) {
    if (error instanceof Problem) throw error
    throw refused(name, `line ${number} is not as it should be`)
  }
}
