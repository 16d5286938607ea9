// The Worker's HTTP side: every resource's routes, and the two ends of what can go wrong.

import { Hono } from 'hono'
import { FleetUnavailable } from '../auth/fleet-view.ts'
import { type Failure, fail } from '../protocol/errors.ts'
import { archiveRoutes } from './archive.ts'
import { blobRoutes } from './blobs.ts'
import { commitRoutes } from './commits.ts'
import type { EdgeEnv } from './context.ts'
import { preflight } from './cors.ts'
import { docsRoutes } from './docs.ts'
import { fileRoutes } from './files.ts'
import { fleetRoutes } from './fleets.ts'
import { forkRoutes } from './forks.ts'
import { historyRoutes } from './history.ts'
import { leaseRoutes } from './lease.ts'
import { lineageRoutes } from './lineage.ts'
import { logRoutes } from './log.ts'
import { memoryRoutes } from './memories.ts'
import { proofRoutes } from './proof.ts'
import { Problem, replyFailure, replyJson } from './reply.ts'
import { sessionRoutes } from './sessions.ts'
import { snapshotRoutes } from './snapshots.ts'
import { sqlRoutes } from './sql.ts'
import { stateRoutes } from './state.ts'
import { sweepRoutes } from './sweep.ts'
import { tableRoutes } from './tables.ts'
import { tailRoutes } from './tail.ts'
import { uploadRoutes } from './uploads.ts'
import { viewRoutes } from './views.ts'

export function createApp(): Hono<EdgeEnv> {
  // The path as it was sent: each route decodes its own part, once.
  const app = new Hono<EdgeEnv>({ getPath: (request) => rawPath(request.url) })

  app.use(async (c, next) => {
    c.set('requestId', crypto.randomUUID())
    if (c.req.method === 'OPTIONS') return preflight(c.get('requestId'))
    await next()
    return undefined
  })

  app.get('/healthz', (c) => replyJson(c, { ok: true }))
  docsRoutes(app)
  sessionRoutes(app)
  commitRoutes(app)
  logRoutes(app)
  stateRoutes(app)
  fileRoutes(app)
  memoryRoutes(app)
  blobRoutes(app)
  uploadRoutes(app)
  leaseRoutes(app)
  tailRoutes(app)
  snapshotRoutes(app)
  forkRoutes(app)
  historyRoutes(app)
  sweepRoutes(app)
  proofRoutes(app)
  archiveRoutes(app)
  tableRoutes(app)
  viewRoutes(app)
  sqlRoutes(app)
  lineageRoutes(app)
  fleetRoutes(app)

  app.notFound((c) =>
    replyFailure(
      c,
      fail('not_found', 'there is no such resource, or it has no such method; /docs shows what there is'),
    ),
  )
  app.onError((error, c) => replyFailure(c, failureOf(error, c.get('requestId'))))
  return app
}

function rawPath(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  if (start === -1) return '/'
  const end = url.slice(start).search(/[?#]/)
  return end === -1 ? url.slice(start) : url.slice(start, start + end)
}

/** What a client is told of an error: a problem as it is; a platform's passing trouble as 503; a bug as no more than that. */
function failureOf(error: unknown, requestId: string): Failure {
  if (error instanceof Problem) return error.failure
  if (error instanceof FleetUnavailable || isPassing(error)) {
    return fail('unavailable', 'not reachable for the moment; try the same again', { retry_after: 1 })
  }
  console.error(requestId, error)
  return fail('internal', `something went wrong on our side; tell us the request id ${requestId}`)
}

/** The platform marks what a retry may cure; D1 says so in words alone, inside the error of whoever asked it. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error.cause !== undefined && isPassing(error.cause)) return true
  if (Reflect.get(error, 'retryable') === true || Reflect.get(error, 'overloaded') === true) return true
  if (Reflect.get(error, 'durableObjectReset') === true) return true
  return /D1_ERROR|Network connection lost|internal error; reference|Durable Object .* (reset|overloaded)/i.test(
    error.message,
  )
}
