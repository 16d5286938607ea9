// `/openapi.json`: the document, made from the zod schemas that validate and from one table of routes. How a route gets into
// it: see openapi/route.ts.

import { problem } from '../protocol/resources.ts'
import { archive } from './openapi/archive.ts'
import { blobs } from './openapi/blobs.ts'
import { catalog } from './openapi/catalog.ts'
import { commits } from './openapi/commits.ts'
import { files } from './openapi/files.ts'
import { fleet } from './openapi/fleet.ts'
import { lease } from './openapi/lease.ts'
import { log } from './openapi/log.ts'
import { memory } from './openapi/memory.ts'
import { describe, parameterComponents } from './openapi/operation.ts'
import type { Section } from './openapi/route.ts'
import { Schemas } from './openapi/schemas.ts'
import { service } from './openapi/service.ts'
import { sessions } from './openapi/sessions.ts'
import { sharedHeaders } from './openapi/shared.ts'
import { state } from './openapi/state.ts'
import { tables } from './openapi/tables.ts'
import { time } from './openapi/time.ts'

/** Every resource, in the order in which a reader meets them. */
export const sections: readonly Section[] = [
  sessions,
  commits,
  log,
  state,
  files,
  memory,
  blobs,
  tables,
  catalog,
  time,
  archive,
  lease,
  fleet,
  service,
]

export function openApiDocument(): object {
  const schemas = new Schemas()
  const responses: Record<string, object> = {}
  const paths: Record<string, Record<string, object>> = {}
  for (const { tag, routes } of sections) {
    for (const route of routes) {
      paths[route.path] ??= {}
      Object.assign(paths[route.path] ?? {}, { [route.method]: describe(route, tag, { schemas, responses }) })
    }
  }
  schemas.of(problem, 'answer')
  return {
    openapi: '3.1.0',
    info: { title: 'Lares', version: '1.0.0', description: about },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    tags: sections.map(({ tag, text }) => ({ name: tag, description: text })),
    paths,
    components: {
      schemas: schemas.components,
      responses,
      parameters: parameterComponents(),
      headers: Object.fromEntries(
        Object.entries(sharedHeaders).map(([name, { text, schema }]) => [
          name,
          { description: text, schema },
        ]),
      ),
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key, a session token, or the root key',
        },
      },
    },
  }
}

const about =
  'One world per session, under one version number. ' +
  'A request with an unknown field or query parameter is refused; every error is `application/problem+json` with a stable `code`.'
