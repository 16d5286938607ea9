// The Worker as it is, with three differences: its sessions tell nothing to the catalog, a request that asks for it is told how
// many rows the objects read and wrote to answer it, and another throws its session's object out of memory.

import type { Env } from '../../src/env.ts'
import worker from '../../src/index.ts'
import { Session as Product } from '../../src/session/session.ts'
import { measureTables, type TablesMeasured } from './tables-inside.ts'

// All that the Worker's entry exports; the session below takes the place of its own.
export * from '../../src/index.ts'

export class Session extends Product {
  constructor(context: DurableObjectState, env: Env) {
    super(context, env)
    watch(context.storage.sql)
  }

  override async alarm(): Promise<void> {}

  async measureTables({ rows, rounds }: { rows: number; rounds: number }): Promise<TablesMeasured> {
    if (this.world === null) throw new Error('there is no world')
    return measureTables(this.world, rows, rounds)
  }

  async evict(): Promise<void> {
    this.ctx.abort('thrown out by the bench')
  }
}

type Cursor = Pick<SqlStorageCursor<Record<string, SqlStorageValue>>, 'rowsRead' | 'rowsWritten'>

/** The statements of the request that counts; null while none does. */
let counted: Cursor[] | null = null
let watching = false

/** An object and the Worker share an isolate here, so one list serves both. A cursor knows its rows once it has been read. */
function watch(sql: SqlStorage): void {
  if (watching) return
  watching = true
  const prototype: SqlStorage = Object.getPrototypeOf(sql)
  const exec = prototype.exec
  prototype.exec = function (this: SqlStorage, ...args: Parameters<typeof exec>) {
    const cursor = exec.apply(this, args)
    counted?.push(cursor)
    return cursor
    // The overloads of `exec` differ in what rows look like, which nothing here depends on.
  } as typeof exec
}

export default {
  async fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
    const tables = request.headers.get('bench-tables')
    if (tables !== null) return inside(request, env, tables)
    if (request.headers.has('bench-evict')) return evict(request, env)
    if (!request.headers.has('bench-count')) return worker.fetch(request, env, context)
    const cursors: Cursor[] = []
    counted = cursors
    try {
      const response = await worker.fetch(request, env, context)
      const copy = new Response(response.body, response)
      const sum = (of: 'rowsRead' | 'rowsWritten') => cursors.reduce((rows, cursor) => rows + cursor[of], 0)
      copy.headers.set('bench-rows-read', String(sum('rowsRead')))
      copy.headers.set('bench-rows-written', String(sum('rowsWritten')))
      return copy
    } finally {
      counted = null
    }
  },
}

/** Has a session's object measure itself. */
async function inside(request: Request, env: Env, asked: string): Promise<Response> {
  const session = new URL(request.url).pathname.split('/')[3]
  const id = env.SESSION.idFromName(`bench/${session}`)
  // The binding is typed by the product's class; the object is of the one above.
  const stub = env.SESSION.get(id) as unknown as Pick<Session, 'measureTables'>
  return Response.json(await stub.measureTables(JSON.parse(asked)))
}

async function evict(request: Request, env: Env): Promise<Response> {
  const id = env.SESSION.idFromName(`bench/${new URL(request.url).pathname.split('/').at(-1)}`)
  // The class above is what the binding leads to.
  const stub = env.SESSION.get(id) as unknown as { evict(): Promise<void> }
  await stub.evict().catch(() => {})
  return new Response()
}
