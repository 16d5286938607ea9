// The whole of time in plain data: what sessions hold at each version, after commits, reverts, forks, merges and erasures. The
// product is compared with this; it shares no code with it.

/** One stored value. Forks share the cell, because they share the value: erasing it is erasing it for all. */
export interface Cell {
  value: unknown
  erased: boolean
}

/** Kinds of entries, each a map of its own; the log is beside them. */
export const entryKinds = ['state', 'file', 'row', 'memory'] as const
export type EntryKind = (typeof entryKinds)[number]
export type Entries = Readonly<Record<EntryKind, ReadonlyMap<string, Cell>>>

export interface Moment {
  entries: Entries
  /** Seqs of the active log. */
  active: readonly number[]
  /** Events there are, cuts included. */
  events: number
}

export type ModelOp =
  | { op: 'set'; key: string; value: unknown }
  | { op: 'delete'; key: string }
  | { op: 'append'; payload: unknown }
  | { op: 'put'; path: string; text: string }
  | { op: 'move'; path: string; to: string }
  | { op: 'remove'; prefix: string }
  | { op: 'insert'; key: string; n: number }
  | { op: 'drop'; n: number }
  | { op: 'remember'; id: string; text: string }
  | { op: 'forget'; id: string }

interface Event {
  type: string
  cell: Cell
}

interface Line {
  session: string
  version: number
}

export type Kind = EntryKind | 'log'

const empty: Moment = {
  entries: { state: new Map(), file: new Map(), row: new Map(), memory: new Map() },
  active: [],
  events: 0,
}

export class ModelSession {
  readonly name: string
  readonly moments: Moment[]
  readonly events: Event[]
  readonly ancestry: Line[]
  readonly merged = new Map<string, number>()
  readonly snapshots = new Map<string, number>()
  /** How many versions are kept; null for all. */
  keep: number | null = null
  /** Versions before this one may be gone, unless a snapshot names them. */
  pruned = 0

  constructor(name: string, moments: Moment[] = [empty], events: Event[] = [], ancestry: Line[] = []) {
    this.name = name
    this.moments = moments
    this.events = events
    this.ancestry = ancestry
  }

  get version(): number {
    return this.moments.length - 1
  }

  at(version: number): Moment {
    return this.moments[version] ?? empty
  }

  /** The oldest version that is there for certain. */
  get oldest(): number {
    if (this.keep !== null) this.pruned = Math.max(this.pruned, this.version - this.keep + 1)
    return Math.max(1, this.pruned)
  }

  get head(): Moment {
    return this.at(this.version)
  }

  /** Whether the commit would be taken; what it would do is done only then. */
  commit(ops: readonly ModelOp[]): boolean {
    const next = this.#draft()
    for (const op of ops) if (!applyOp(this, next, op)) return false
    this.#keep(next)
    return true
  }

  revert(version: number, kinds: readonly Kind[] | null): void {
    const to = this.at(version)
    const next = this.#draft()
    const all = kinds === null
    for (const kind of entryKinds) {
      if (all || kinds.includes(kind)) next.entries[kind] = setBack(next.entries[kind], to.entries[kind])
    }
    if ((all || kinds.includes('log')) && next.events !== to.events) {
      append(this, next, 'lares.cut', { to: to.events })
      next.active = [...to.active]
    }
    this.#keep(next)
  }

  fork(name: string, version: number): ModelSession {
    const lines = [
      { session: this.name, version },
      ...this.ancestry.map((line) => ({ ...line, version: Math.min(line.version, version) })),
    ]
    const events = this.events.slice(0, this.at(version).events)
    const child = new ModelSession(name, this.moments.slice(0, version + 1), events, lines)
    child.pruned = Math.min(this.pruned, version)
    return child
  }

  /** The version from which another session's changes count; null when the two never met. */
  baseOf(from: ModelSession): number | null {
    const common = commonVersion(this, from)
    return common === null ? null : Math.max(common, this.merged.get(from.name) ?? 0)
  }

  /** False when the two never met. */
  merge(from: ModelSession, strategy: 'ours' | 'theirs'): boolean {
    const base = this.baseOf(from)
    if (base === null) return false
    const was = from.at(base)
    const theirs = from.head
    const next = this.#draft()
    for (const kind of entryKinds) {
      next.entries[kind] = mergeMaps(was.entries[kind], next.entries[kind], theirs.entries[kind], strategy)
    }
    for (const seq of theirs.active) {
      const event = from.events[seq - 1]
      if (seq <= was.events || event === undefined || event.cell.erased) continue
      next.active = [...next.active, append(this, next, event.type, event.cell.value)]
    }
    this.merged.set(from.name, from.version)
    this.#keep(next)
    return true
  }

  /** Whether a version that is kept has a value of this reference. */
  has(kind: Kind, key: string): boolean {
    if (kind === 'log') return Number(key) <= this.head.events
    const kept = this.moments.filter(
      (_, version) => version >= this.oldest || [...this.snapshots.values()].includes(version),
    )
    return kept.some((moment) => moment.entries[kind].has(key))
  }

  /** Erases every value a reference ever had here. False when it had none. */
  erase(kind: Kind, key: string): boolean {
    const cells = kind === 'log' ? this.#eventCells(Number(key)) : this.#entryCells(kind, key)
    if (cells.size === 0) return false
    for (const cell of cells) cell.erased = true
    this.#keep(this.#draft())
    return true
  }

  #eventCells(seq: number): Set<Cell> {
    const event = this.events[seq - 1]
    return new Set(event && seq <= this.head.events ? [event.cell] : [])
  }

  #entryCells(kind: EntryKind, key: string): Set<Cell> {
    const found = this.moments.map((moment) => moment.entries[kind].get(key))
    return new Set(found.filter((cell) => cell !== undefined))
  }

  #draft(): Draft {
    const { entries, active, events } = this.head
    const { state, file, row, memory } = entries
    const copies = { state: new Map(state), file: new Map(file), row: new Map(row), memory: new Map(memory) }
    return { entries: copies, active: [...active], events }
  }

  #keep(next: Draft): void {
    this.moments.push(next)
  }
}

interface Draft {
  entries: Record<EntryKind, Map<string, Cell>>
  active: number[]
  events: number
}

function cellOf(value: unknown): Cell {
  return { value, erased: false }
}

function append(session: ModelSession, next: Draft, type: string, value: unknown): number {
  next.events++
  session.events[next.events - 1] = { type, cell: cellOf(value) }
  return next.events
}

function applyOp(session: ModelSession, next: Draft, op: ModelOp): boolean {
  const { state, file: files, row: rows, memory: memories } = next.entries
  switch (op.op) {
    case 'set':
      state.set(op.key, cellOf(op.value))
      return true
    case 'delete':
      state.delete(op.key)
      return true
    case 'append':
      next.active.push(append(session, next, 'message', op.payload))
      return true
    case 'put':
      files.set(op.path, cellOf(op.text))
      return true
    case 'move': {
      const cell = files.get(op.path)
      // What was erased names no bytes that could be moved.
      if (cell === undefined || cell.erased) return false
      if (op.path === op.to) return true
      files.set(op.to, cellOf(cell.value))
      files.delete(op.path)
      return true
    }
    case 'insert':
      rows.set(op.key, cellOf(op.n))
      return true
    case 'drop':
      for (const [key, cell] of rows) if (!cell.erased && cell.value === op.n) rows.delete(key)
      return true
    case 'remember':
      // An id is taken while there is a memory of it that can be read.
      if (memories.get(op.id)?.erased === false) return false
      memories.set(op.id, cellOf(op.text))
      return true
    case 'forget':
      memories.delete(op.id)
      return true
    case 'remove':
      for (const path of [...files.keys()]) if (path.startsWith(op.prefix)) files.delete(path)
      return true
  }
}

/** A value that comes back is a value of its own, unless it is the very one that is there. */
function setBack(now: ReadonlyMap<string, Cell>, to: ReadonlyMap<string, Cell>): Map<string, Cell> {
  const back = new Map<string, Cell>()
  for (const [key, cell] of to) {
    const current = now.get(key)
    back.set(key, current !== undefined && same(current, cell) ? current : { ...cell })
  }
  return back
}

/** By what they were, also where they have been erased: that is what a digest compares. */
function same(a: Cell | undefined, b: Cell | undefined): boolean {
  return JSON.stringify(a?.value) === JSON.stringify(b?.value)
}

function mergeMaps(
  base: ReadonlyMap<string, Cell>,
  ours: ReadonlyMap<string, Cell>,
  theirs: ReadonlyMap<string, Cell>,
  strategy: 'ours' | 'theirs',
): Map<string, Cell> {
  const out = new Map(ours)
  for (const key of new Set([...base.keys(), ...theirs.keys()])) {
    const [was, mine, other] = [base.get(key), ours.get(key), theirs.get(key)]
    if (same(was, other) || same(mine, other)) continue
    if (!same(was, mine) && strategy === 'ours') continue
    if (other === undefined) out.delete(key)
    else out.set(key, { ...other })
  }
  return out
}

function commonVersion(into: ModelSession, from: ModelSession): number | null {
  const lines = (one: ModelSession) => [{ session: one.name, version: one.version }, ...one.ancestry]
  for (const { session, version } of lines(into)) {
    const met = lines(from).find((line) => line.session === session)
    if (met) return Math.min(version, met.version)
  }
  return null
}
