// `/openapi.json` and `/docs`: the API for machines and for a browser.

import type { Hono } from 'hono'
import type { EdgeEnv } from './context.ts'
import { docsHeaders, docsPage } from './docs-page.ts'
import { openApiDocument } from './openapi.ts'
import { reply } from './reply.ts'

let document: string | undefined

export function docsRoutes(app: Hono<EdgeEnv>): void {
  app.get('/openapi.json', (c) => {
    // Built once, at the first question, so that starting up costs nothing.
    document ??= JSON.stringify(openApiDocument())
    return reply(c, document)
  })
  app.get('/docs', (c) => reply(c, docsPage, { headers: docsHeaders() }))
}
