// Reading rows one by one. A statement that is left half-way stays open until it is collected, and while one is open SQLite drops no
// table and no index: a revert would fail, and a deleted session would never go.

/**
 * The rows of a statement that reads a bounded number of them. Who stops early lets the rest fall, and the statement is over.
 *
 * @example for (const row of each(sql.exec('SELECT … LIMIT ?', limit))) if (!add(row)) break
 */
export function* each<T>(rows: Iterable<T>): Generator<T> {
  const iterator = rows[Symbol.iterator]()
  let open = true
  const next = (): IteratorResult<T> => {
    try {
      const result = iterator.next()
      if (result.done) open = false
      return result
    } catch (error) {
      open = false
      throw error
    }
  }
  try {
    for (let result = next(); !result.done; result = next()) yield result.value
  } finally {
    while (open) next()
  }
}

/**
 * The rows of a statement without a bound, a part at a time, so that stopping early costs no more than the rest of a part.
 *
 * @param read the rows after one, in order, as many as a part has at most; null to begin
 */
export function* inParts<T>(size: number, read: (after: T | null) => Iterable<T>): Generator<T> {
  let last: T | null = null
  for (;;) {
    let count = 0
    for (const row of each(read(last))) {
      count++
      last = row
      yield row
    }
    if (count < size) return
  }
}

/** Rows of a part: few enough that a rest of them costs little, many enough that a part's own cost does not show. */
export const partRows = 100
