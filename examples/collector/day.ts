// A day of an agent that collects images and notes: a table with a media column and computed ones, commits that say what they
// were made from, and a question in SQL that joins log, table and files as of noon.

import { rowsOf, type Session } from '../../src/client/index.ts'

export interface Find {
  at: string
  place: string
  note: string
  /** Bytes of a PNG. */
  picture: Uint8Array
}

export interface Evening {
  /** The version the world had at noon. */
  noon: number
  /** What the agent had found by then, with the event and the file each find came from. */
  byNoon: { place: string; words: number; path: string; seen: string }[]
  /** The same question at the end of the day. */
  byEvening: number
  /** What came of the first picture. */
  cameOfFirst: string[]
}

const table = {
  columns: {
    id: 'int',
    at: 'timestamp',
    place: { type: 'string', index: true },
    note: { type: 'string', required: true },
    picture: { type: 'image', required: true },
    words: { type: 'int', computed: "length(note) - length(replace(note, ' ', '')) + 1" },
  },
  key: 'id',
} as const

const question = `
  SELECT f.place, f.words, p.path, json_extract(l.payload, '$.saw') AS seen
  FROM finds f
  JOIN files p ON p.blob = f.picture ->> '$.blob'
  JOIN lineage i ON i.output = 'row:finds/' || f.row_key
  JOIN log l ON i.input = 'log:' || l.seq
  ORDER BY f.id`

/** Lives the day, and asks about it. */
export async function live(
  session: Session,
  morning: readonly Find[],
  afternoon: readonly Find[],
): Promise<Evening> {
  await session.tables.define('finds', table)
  for (const [i, find] of morning.entries()) await collect(session, i + 1, find)
  const { version: noon } = await session.get()
  for (const [i, find] of afternoon.entries()) await collect(session, morning.length + i + 1, find)
  // Second thoughts in the afternoon do not change what was known at noon.
  await session.table('finds').update({ id: 1 }, { note: 'On second thoughts, a very ordinary stone.' })

  const byNoon = rowsOf<Evening['byNoon'][number]>(await session.at(noon).query(question))
  const { rows } = await session.query('SELECT count(*) FROM finds')
  const down = await session.lineage('file:finds/1.png', { direction: 'down' })
  return { noon, byNoon, byEvening: Number(rows[0]?.[0]), cameOfFirst: down.edges.map(({ to }) => to) }
}

/** One commit: the event, the file, and the row made of both. */
async function collect(session: Session, id: number, { picture, ...find }: Find): Promise<void> {
  const path = `finds/${id}.png`
  // The bytes first, so that the row can name them beside the file.
  await session.files.put(path, picture, { type: 'image/png' })
  const { blob } = await session.files.head(path)
  await session.commit(
    (tx) => {
      tx.log.append({ type: 'find', payload: { saw: find.note }, key: `find-${id}` })
      tx.tables.insert('finds', [{ id, ...find, picture: { blob, type: 'image/png' } }], {
        from: [`log:${id}`, `file:${path}`],
      })
    },
    { cause: { tool: 'camera' } },
  )
}
