// The floor: the least a Worker with a SQLite object can do for an append. No routes, no credentials, no checks, one row.

import { DurableObject, WorkerEntrypoint } from 'cloudflare:workers'

export class Log extends DurableObject {
  constructor(context, env) {
    super(context, env)
    context.storage.sql.exec('CREATE TABLE IF NOT EXISTS log (seq INTEGER PRIMARY KEY, value TEXT NOT NULL)')
  }

  append(value) {
    return this.ctx.storage.sql.exec('INSERT INTO log (value) VALUES (?) RETURNING seq', value).one().seq
  }
}

export default class extends WorkerEntrypoint {
  async fetch(request) {
    const log = this.env.LOG.getByName(request.url)
    return Response.json({ seq: await log.append(await request.text()) }, { status: 201 })
  }
}
