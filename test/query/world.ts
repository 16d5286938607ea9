// A small world with something of each kind, to ask about.

import { type Api, session } from '../tables/api.ts'

export async function world(): Promise<Api> {
  const s = await session()
  const blob = await s.blob(new TextEncoder().encode('pixels'))
  await s.ok('PUT', '/tables/notes', {
    columns: { id: 'int', title: 'string', done: 'bool', cost: 'float', tags: 'array', pic: 'image' },
    key: 'id',
  })
  await s.commit(
    { op: 'log.append', type: 'note', payload: { text: 'one' } },
    { op: 'state.set', key: 'plan', value: { steps: [1, 2] } },
    { op: 'file.put', path: 'a.png', blob, type: 'image/png' },
    {
      op: 'row.insert',
      table: 'notes',
      rows: [
        { id: 1, title: 'a', done: true, cost: 1.5, tags: ['x', 'y'], pic: { blob, type: 'image/png' } },
        { id: 2, title: 'b', done: false, cost: 2 },
      ],
      from: ['log:1', 'file:a.png@2'],
    },
  )
  await s.ok('POST', '/tables/notes/update', { where: { id: 2 }, set: { cost: 10 } })
  return s
}
