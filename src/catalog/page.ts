// One page of a list whose rows are partly judged in code: reads on until the page is full or the list is over, so that
// `next` is there exactly when something follows.

export type Listed<Item> =
  | { ok: true; items: Item[]; next: string | null }
  | { ok: false; code: 'bad_position' }

export interface Walk<Row, Position> {
  limit: number
  /** Null at the beginning. */
  after: Position | null
  /** Up to `most` rows after a position, in the list's order. */
  read: (after: Position | null, most: number) => Promise<Row[]>
  keep: (row: Row) => boolean
  positionOf: (row: Row) => Position
  /** Rows of one read, at most. */
  most: number
  /** Ends a page early, once its rows are this large together. */
  bytes?: { of: (row: Row) => number; most: number }
}

export async function fillPage<Row, Position>(
  walk: Walk<Row, Position>,
): Promise<{ rows: Row[]; next: Position | null }> {
  const rows: Row[] = []
  let { after } = walk
  let bytes = 0
  // One more than the page, to see whether something follows.
  let most = Math.min(walk.limit + 1, walk.most)
  for (;;) {
    const read = await walk.read(after, most)
    for (const row of read) {
      if (!walk.keep(row)) continue
      const last = rows.at(-1)
      if (last !== undefined && (rows.length >= walk.limit || (walk.bytes && bytes >= walk.bytes.most))) {
        return { rows, next: walk.positionOf(last) }
      }
      rows.push(row)
      bytes += walk.bytes?.of(row) ?? 0
    }
    const end = read.at(-1)
    if (end === undefined || read.length < most) return { rows, next: null }
    after = walk.positionOf(end)
    // A rare match lies far off: fewer, larger steps.
    most = Math.min(most * 2, walk.most)
  }
}
