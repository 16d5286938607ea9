// How long a query could take, before it is run. The database cannot be interrupted in the middle of a step, and while it runs
// the session answers no one; so its own plan is read first, and a query that might loop too often is not begun.
//
// The bound is the worst case: every loop as long as the relation it walks, whatever the conditions let through.

export interface PlanRow {
  id: number
  parent: number
  detail: string
}

export interface Bounds {
  /** How many elements a JSON value may have. */
  elements: number
  /** How many rows a recursive query may make. */
  recursion: number
  /** Whether the statement holds an IN: then a look-up by key may stand for many. */
  hasIn: boolean
}

/**
 * The most steps a plan can take.
 *
 * @param sizes rows of tables, by alias
 */
export function worstCase(
  plan: readonly PlanRow[],
  sizes: ReadonlyMap<string, number>,
  bounds: Bounds,
): number {
  const children = new Map<number, PlanRow[]>()
  for (const row of plan) children.set(row.parent, [...(children.get(row.parent) ?? []), row])
  const reader = new PlanReader(children, new Map(sizes), bounds)
  reader.rows(0, 1)
  return reader.steps
}

class PlanReader {
  steps = 0
  readonly #children: ReadonlyMap<number, PlanRow[]>
  readonly #sizes: Map<string, number>
  readonly #bounds: Bounds
  /** The recursive step being read, and the name of the queue it takes one row from. */
  #queue: { node: number; name: string } | null = null

  constructor(children: ReadonlyMap<number, PlanRow[]>, sizes: Map<string, number>, bounds: Bounds) {
    this.#children = children
    this.#sizes = sizes
    this.#bounds = bounds
  }

  /** Counts what is below a node that runs `times` times; answers how many rows one run of it gives. */
  rows(node: number, times: number): number {
    const children = this.#children.get(node) ?? []
    let product = 1
    let sum = 0
    const correlated: PlanRow[] = []
    for (const child of children) {
      const { id, detail } = child
      if (/^(SCAN|SEARCH) /.test(detail)) product *= Math.max(1, this.#loop(detail, node))
      else if (/^(MATERIALIZE|CO-ROUTINE) /.test(detail)) {
        const name = detail.replace(/^\S+ /, '')
        this.#grow(name, this.#named(id, times))
      } else if (detail.startsWith('CORRELATED ')) correlated.push(child)
      else if (/^(LEFT|RIGHT|LEFT-MOST SUBQUERY|UNION|INTERSECT|EXCEPT|INDEX |MERGE |COMPOUND)/.test(detail))
        sum += this.rows(id, times)
      else if (detail.startsWith('MULTI-INDEX OR')) product *= Math.max(1, this.rows(id, times))
      else if (!/^(USE TEMP|BLOOM|CREATE BLOOM)/.test(detail)) this.rows(id, times)
    }
    for (const { id } of correlated) this.rows(id, times * product)
    this.steps += times * product
    return sum === 0 ? product : sum * product
  }

  #named(id: number, times: number): number {
    const step = (this.#children.get(id) ?? []).find(({ detail }) => detail === 'RECURSIVE STEP')
    if (step === undefined) return this.rows(id, times)
    // The rows it has made so far are walked once each, and it makes no more than its limit.
    for (const child of this.#children.get(id) ?? []) {
      if (child !== step) this.rows(child.id, times)
    }
    const queue = (this.#children.get(step.id) ?? []).find(({ detail }) => /^SCAN \S+$/.test(detail))
    const outer = this.#queue
    this.#queue = queue === undefined ? null : { node: step.id, name: queue.detail.slice(5) }
    this.rows(step.id, times * this.#bounds.recursion)
    this.#queue = outer
    return this.#bounds.recursion
  }

  /** Two relations may have one name, in different places: then the larger counts. */
  #grow(name: string, rows: number): void {
    this.#sizes.set(name, Math.max(rows, this.#sizes.get(name) ?? 0))
  }

  #loop(detail: string, node: number): number {
    const constant = /^SCAN (?:(\d+) )?CONSTANT ROWS?/.exec(detail)
    if (constant) return Number(constant[1] ?? 1)
    if (detail.includes(' VIRTUAL TABLE ')) return this.#bounds.elements
    const isPast = /^SEARCH \S+_past /.test(detail)
    // One row, by its whole key; a key's past may have many.
    if (
      !this.#bounds.hasIn &&
      !isPast &&
      / USING (INTEGER PRIMARY KEY \(rowid=\?\)|PRIMARY KEY \(kind=\? AND key=\?\))/.test(detail)
    )
      return 1
    const name =
      /^(?:SCAN|SEARCH) (.+?)(?: (?:USING|LEFT-JOIN|RIGHT-JOIN|FULL-JOIN|EXISTS).*)?$/.exec(detail)?.[1] ?? ''
    if (this.#queue?.node === node && this.#queue.name === name) {
      this.#queue = null
      return 1
    }
    return this.#sizes.get(name) ?? Math.max(this.#bounds.recursion, 1000, ...this.#sizes.values())
  }
}
