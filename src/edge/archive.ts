// `…/export`, `/v1/import` and `…/restore`: carrying a whole world away, bringing one in, and bringing a lost one back.

import type { Hono } from 'hono'
import { sees } from '../auth/scopes.ts'
import { fail } from '../protocol/errors.ts'
import { sessionIdPattern, sessionIdRule } from '../protocol/names.ts'
import { restoreBody } from '../protocol/time.ts'
import { archiveType } from '../snapshot/archive.ts'
import { type Imported, importArchive } from './archive-in.ts'
import { replyArchive } from './archive-out.ts'
import { readBody, readText } from './body.ts'
import type { EdgeContext, EdgeEnv } from './context.ts'
import { fleetRoute, sessionRoute, sessionStub } from './door.ts'
import { invalid, readAt, readChoice, readQuery } from './query.ts'
import { Problem, replyJson } from './reply.ts'
import { restoreSession } from './restore.ts'

export function archiveRoutes(app: Hono<EdgeEnv>): void {
  sessionRoute(app, 'get', '/export', 'read', (visit) => {
    const query = readQuery(visit.c, ['at', 'journal'])
    const journal = readChoice(query, 'journal', ['true', 'false'] as const, 'false') === 'true'
    return replyArchive(visit, readAt(query), journal)
  })

  fleetRoute(app, 'post', '/v1/import', 'write', async (c) => {
    const session = sessionOf(c)
    const type = c.req.header('content-type')
    if (type === undefined || !/^application\/x-tar\s*(;|$)/i.test(type))
      throw new Problem(fail('unsupported_media_type', `this takes ${archiveType}`))
    const who = c.get('who')
    const visit = { c, who, session, stub: sessionStub(c, who.fleet, session) }
    return replyImported(c, await importArchive(visit, c.req.raw.body ?? new Blob([]).stream()))
  })

  sessionRoute(app, 'post', '/restore', 'admin', async (visit) => {
    const { c } = visit
    readQuery(c, [])
    const text = await readText(c)
    const { snapshot } = await readBody(c, restoreBody, text)
    return replyImported(c, await restoreSession(visit, snapshot, text))
  })
}

function replyImported(c: EdgeContext, { session, version }: Imported): Response {
  return replyJson(c, session, {
    status: 201,
    version,
    headers: { location: `/v1/sessions/${encodeURIComponent(session.session)}` },
  })
}

function sessionOf(c: EdgeContext): string {
  const session = readQuery(c, ['session']).get('session')
  if (session === undefined) throw invalid('name the session that the archive becomes', 'session')
  if (!sessionIdPattern.test(session)) throw invalid(`not a session id: ${sessionIdRule}`, 'session')
  if (sees(c.get('who'), session)) return session
  throw new Problem(
    fail('forbidden', 'the credential does not cover a session of that name', { pointer: 'session' }),
  )
}
