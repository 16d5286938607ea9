// Work on computed cells that a commit leaves behind: taken up after the answer, with no lock held while a function is asked,
// and written back as a commit of its own whose lineage names the row it was computed from.
//
// A result is written only if the row's inputs are still what the function was given; otherwise the change that came between
// has left new work here.

import { canonical, type Json } from '../../protocol/canonical.ts'
import { limits } from '../../protocol/limits.ts'
import { vectorLength } from '../../protocol/tables.ts'
import { transact } from '../commit.ts'
import { entryStamp } from '../store.ts'
import type { World } from '../world.ts'
import { type Column, type KeptComputed, type Table, tableAt } from './definition.ts'
import { inputIds, setCell } from './derive.ts'
import { evaluate } from './expression.ts'
import { type CallResult, callEndpoint, type Embed } from './functions.ts'
import { cellIn, isOutdated, type Kept, noteBlobs } from './row.ts'

/** Cells of one step, and calls of an endpoint at once. */
const cellsPerStep = 200
const callsAtOnce = 6
/** Milliseconds before a failed call is made again; after the last, the cell is in error. */
const pauses = [1_000, 5_000, 30_000, 120_000]

type DueRow = { tbl: string; key: string; col: string; tries: number }

interface Cell {
  due: DueRow
  table: Table
  column: Column
  kept: Kept
  since: number
}

interface Done extends Cell {
  result: CallResult
}

export class CellsDue {
  readonly #world: World
  readonly #embed: Embed
  readonly #committed: () => void
  #running: Promise<void> | null = null

  constructor(world: World, embed: Embed, committed: () => void) {
    this.#world = world
    this.#embed = embed
    this.#committed = committed
  }

  /** When there is something to do, epoch milliseconds; null for never. While a step runs, a look again later, should it be cut off. */
  due(): number | null {
    if (this.#world.state !== 'live') return null
    if (this.#running !== null) return Date.now() + 30_000
    return this.#world.sql.exec<{ due: number | null }>('SELECT min(due) AS due FROM cells_due').one().due
  }

  /** Takes up what is due, and returns at once: nothing that is urgent waits for a function of someone else's. */
  start(): void {
    const due = this.due()
    if (this.#running !== null || due === null || due > Date.now()) return
    this.#running = this.step()
      .catch((error) =>
        console.warn('cells could not be computed', error instanceof Error ? error.message : 'unknown'),
      )
      .then(() => {
        this.#running = null
        this.#committed()
      })
  }

  /** Computes some of what is due. */
  async step(): Promise<void> {
    const cells = this.#take()
    const done: Done[] = []
    for (const group of grouped(cells)) done.push(...(await this.#compute(group)))
    if (this.#world.state !== 'live' || done.length === 0) return
    try {
      this.#writeBack(done)
    } catch (error) {
      // What cannot be written now must not have its functions asked again at once, and again.
      for (const { due } of done) this.#postpone(due, pauses.at(-1) ?? 0)
      throw error
    }
  }

  /** The cells that are due and still want a value; what does not is dropped. */
  #take(): Cell[] {
    const { sql } = this.#world
    const cells: Cell[] = []
    const rows = sql.exec<DueRow>(
      'SELECT tbl, key, col, tries FROM cells_due WHERE due <= ? ORDER BY due LIMIT ?',
      Date.now(),
      cellsPerStep,
    )
    for (const due of rows.toArray()) {
      const cell = this.#read(due)
      if (cell === null) this.#drop(due)
      else cells.push(cell)
    }
    return cells
  }

  #read(due: DueRow): Cell | null {
    const { sql, head } = this.#world
    const table = tableAt(sql, due.tbl, head.version)
    const column = table?.columns.find(({ id }) => id === due.col)
    const row = sql
      .exec<{ text: string; since: number }>(
        "SELECT json(value) AS text, since FROM entries WHERE kind = 'row' AND key = ? AND json_valid(value, 8)",
        `${due.tbl}/${due.key}`,
      )
      .toArray()[0]
    if (!table || column?.computed === undefined || row === undefined) return null
    const kept: Kept = JSON.parse(row.text)
    return isOutdated(kept, column) ? { due, table, column, kept, since: row.since } : null
  }

  #drop({ tbl, key, col }: DueRow): void {
    this.#world.sql.exec('DELETE FROM cells_due WHERE tbl = ? AND key = ? AND col = ?', tbl, key, col)
  }

  async #compute(cells: Cell[]): Promise<Done[]> {
    const [first] = cells
    if (first?.column.computed === undefined) return []
    const { computed } = first.column
    if ('expression' in computed) return this.#express(cells, computed.expression)
    if ('embed' in computed) return this.#embedAll(cells, computed)
    const done: Done[] = []
    for (let i = 0; i < cells.length; i += callsAtOnce) {
      const some = cells.slice(i, i + callsAtOnce).map(async (cell) => ({
        ...cell,
        result: await callEndpoint(computed.endpoint, this.#question(cell)),
      }))
      done.push(...(await Promise.all(some)))
    }
    return done
  }

  #express(cells: Cell[], expression: string): Done[] {
    const [first] = cells
    if (first === undefined) return []
    const texts = cells.map(({ kept }) => JSON.stringify(kept))
    const values = evaluate(this.#world.sql, first.table, first.column, expression, texts)
    return cells.map((cell, i) => {
      const value = values[i] ?? { value: null }
      return { ...cell, result: 'value' in value ? value : { ...value, type: 'expression', again: false } }
    })
  }

  async #embedAll(
    cells: Cell[],
    { embed: inputs, provider, model = '' }: Extract<KeptComputed, { embed: string[] }>,
  ): Promise<Done[]> {
    const texts = cells.map(({ table, kept }) =>
      table.columns
        .filter(({ id }) => inputs.includes(id))
        .map((column) => cellIn(kept, column))
        .filter((value) => value !== null)
        .map((value) => (typeof value === 'string' ? value : canonical(value)))
        .join('\n'),
    )
    const dims = vectorLength(cells[0]?.column.type ?? '') ?? 0
    try {
      const vectors = await this.#embed(texts, { provider, model, dims })
      return cells.map((cell, i) => ({ ...cell, result: { value: vectors[i] ?? null } }))
    } catch (error) {
      const problem = error instanceof Error ? error.message.slice(0, 300) : 'no embedding'
      return cells.map((cell) => ({ ...cell, result: { problem, type: 'embedding', again: true } }))
    }
  }

  #question({ due, table, column, kept }: Cell): object {
    const inputs = new Set(inputIds(table, column))
    const row = table.columns.filter(({ id }) => inputs.has(id)).map((one) => [one.name, cellIn(kept, one)])
    return {
      session: this.#world.identity.session,
      table: due.tbl,
      key: due.key,
      column: column.name,
      row: Object.fromEntries(row),
    }
  }

  #postpone({ tbl, key, col, tries }: DueRow, pause: number): void {
    this.#world.sql.exec(
      'UPDATE cells_due SET tries = ?, due = ? WHERE tbl = ? AND key = ? AND col = ?',
      tries + 1,
      Date.now() + pause,
      tbl,
      key,
      col,
    )
  }

  #writeBack(done: readonly Done[]): void {
    const settled: Done[] = []
    for (const one of done) {
      const { due, result } = one
      const pause = pauses[due.tries]
      if ('problem' in result && result.again && pause !== undefined) {
        this.#postpone(due, pause)
      } else settled.push(one)
    }
    const fitting = settled.filter((one) => this.#stillFits(one))
    if (fitting.length === 0) return
    const outcome = transact(
      this.#world,
      { actor: 'lares:computed' },
      { message: `Computed ${fitting.length} cells` },
      {
        // The session's own work, which the rows' writer has asked for: it passes a lease, and takes none.
        outsider: true,
        apply: (tx) => {
          for (const one of fitting) {
            const { due, table, column, since, result } = one
            // A row with two computed columns is met twice: what the first left is where the second goes on.
            const now = this.#read(due)
            if (now === null) continue
            const ref = `${due.tbl}/${due.key}`
            tx.begin('row.compute', [`row:${ref}@${since}`])
            setCell(
              tx.world.sql,
              now.kept,
              column,
              'value' in result ? { value: result.value } : result,
              errorType(result),
            )
            if (Buffer.byteLength(canonical(now.kept)) > limits.rowBytes) {
              const problem = `a row has at most ${limits.rowBytes} bytes`
              setCell(tx.world.sql, now.kept, column, { problem }, 'answer')
            }
            noteBlobs(now.kept, table)
            tx.put('row', ref, canonical(now.kept))
            this.#drop(due)
          }
          return {}
        },
      },
    )
    if (!outcome.ok) console.warn('computed cells could not be written', outcome.code)
  }

  /** Whether the row still has the inputs that the function was given, and the column the same rule. */
  #stillFits({ due, table, column, kept, since }: Cell): boolean {
    if (entryStamp(this.#world.sql, 'row', `${due.tbl}/${due.key}`)?.since === since) return true
    const now = this.#read(due)
    if (now === null || now.column.computed?.revision !== column.computed?.revision) return false
    const inputs = new Set(inputIds(table, column))
    const read = (row: Kept): string => {
      const values: Json[] = table.columns.filter(({ id }) => inputs.has(id)).map((one) => cellIn(row, one))
      return canonical(values)
    }
    return read(now.kept) === read(kept)
  }
}

function errorType(result: CallResult): string {
  return 'type' in result ? result.type : 'function'
}

/** Cells of one column together. */
function grouped(cells: readonly Cell[]): Cell[][] {
  const groups = new Map<string, Cell[]>()
  for (const cell of cells) {
    const name = `${cell.due.tbl} ${cell.due.col}`
    groups.set(name, [...(groups.get(name) ?? []), cell])
  }
  return [...groups.values()]
}
