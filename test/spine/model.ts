// A world as plainly as it can be written: every version is kept whole. What the real one answers is compared with this.

import canonicalize from 'canonicalize'
import { mergePatch } from '../../src/protocol/merge-patch.ts'
import { pathProblem } from '../../src/protocol/names.ts'
import type { Loose } from './support.ts'

export interface ModelEntry {
  value: Loose
  since: number
  bytes: number
}

export interface ModelEvent {
  seq: number
  version: number
  payload: Loose
  lane: string
  key?: string
  parent?: number
}

export interface ModelWorld {
  state: Map<string, ModelEntry>
  files: Map<string, ModelEntry>
  events: ModelEvent[]
}

class Refused extends Error {}

function refuse(code: string): never {
  throw new Refused(code)
}

export class Model {
  /** Index 0 is the empty world. */
  readonly versions: ModelWorld[] = [{ state: new Map(), files: new Map(), events: [] }]
  /** Sizes of the blobs the session holds. */
  readonly blobs = new Map<string, number>()

  get head(): number {
    return this.versions.length - 1
  }

  at(version: number): ModelWorld {
    const world = this.versions[version]
    if (!world) throw new Error(`the model has no version ${version}`)
    return world
  }

  /** Commits, or answers the code of the refusal. */
  commit(ops: readonly Loose[], expect?: number): string | null {
    if (expect !== undefined && expect !== this.head) return 'version_mismatch'
    const before = this.at(this.head)
    const next: ModelWorld = {
      state: new Map(before.state),
      files: new Map(before.files),
      events: [...before.events],
    }
    try {
      for (const op of ops) this.#check(before, op)
      for (const op of ops) this.#apply(next, op)
    } catch (error) {
      if (error instanceof Refused) return error.message
      throw error
    }
    this.versions.push(next)
    return null
  }

  #check(world: ModelWorld, op: Loose): void {
    if (op.if === undefined) return
    const entries = op.op.startsWith('state.') ? world.state : world.files
    const entry = entries.get(op.key ?? op.to ?? op.path)
    const holds = 'absent' in op.if ? entry === undefined : entry?.since === op.if.version
    if (!holds) refuse('condition_failed')
  }

  #apply(world: ModelWorld, op: Loose): void {
    const since = this.versions.length
    const { state, files, events } = world
    const set = (value: Loose) => state.set(op.key, { value, since, bytes: bytesOf(value) })
    switch (op.op) {
      case 'log.append':
        if (op.parent !== undefined && op.parent > events.length) refuse('invalid')
        if (op.key !== undefined && events.some(({ key }) => key === op.key)) refuse('exists')
        events.push({
          seq: events.length + 1,
          version: since,
          payload: op.payload,
          lane: op.lane ?? 'main',
          ...(op.key === undefined ? {} : { key: op.key }),
          ...(op.parent === undefined ? {} : { parent: op.parent }),
        })
        return
      case 'state.set':
        set(op.value)
        return
      case 'state.patch':
        set(mergePatch(state.get(op.key)?.value, op.patch))
        return
      case 'state.add': {
        const now = state.get(op.key)?.value ?? 0
        if (state.has(op.key) && typeof state.get(op.key)?.value !== 'number') refuse('invalid')
        const sum = now + op.by
        // Past a double's exact integers, counting would silently stop.
        if (!Number.isFinite(sum) || (Number.isInteger(sum) && !Number.isSafeInteger(sum))) refuse('invalid')
        set(sum)
        return
      }
      case 'state.delete':
        state.delete(op.key)
        return
      case 'file.put': {
        const size = this.blobs.get(op.blob)
        if (size === undefined) refuse('invalid')
        const value = { blob: op.blob, mode: '100644', mtime: null, size, type: op.type }
        files.set(op.path, { value, since, bytes: size })
        return
      }
      case 'file.delete':
        for (const path of chosen(files, op)) files.delete(path)
        return
      default:
        this.#transfer(files, op, since)
    }
  }

  #transfer(files: Map<string, ModelEntry>, op: Loose, since: number): void {
    const move = op.op === 'file.move'
    if (op.path !== undefined && !files.has(op.path)) refuse('not_found')
    const { prefix, to } = op
    if (move && prefix !== undefined && prefix !== to && (to.startsWith(prefix) || prefix.startsWith(to))) {
      refuse('invalid')
    }
    const before = new Map(files)
    for (const path of chosen(before, op)) {
      const target = prefix === undefined ? to : to + path.slice(prefix.length)
      if (pathProblem(target) !== null) refuse('invalid')
      const entry = before.get(path)
      if (target === path || !entry) continue
      files.set(target, { ...entry, since })
      if (move) files.delete(path)
    }
  }
}

function chosen(files: ReadonlyMap<string, ModelEntry>, op: Loose): string[] {
  if (op.path !== undefined) return files.has(op.path) ? [op.path] : []
  return sorted(files.keys()).filter((path) => path.startsWith(op.prefix))
}

/** In the order of their UTF-8 bytes. */
export function sorted(keys: Iterable<string>): string[] {
  return [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
}

export function bytesOf(value: Loose): number {
  return Buffer.byteLength(canonicalize(value) ?? '')
}
