// Routes that take no key.

import { z } from 'zod'
import { json } from './content.ts'
import type { Section } from './route.ts'

export const service: Section = {
  tag: 'Service',
  text: 'What takes no key.',
  routes: [
    {
      method: 'get',
      path: '/healthz',
      summary: 'Ask whether the edge answers',
      needs: 'public',
      answers: { 200: { text: 'It does', content: json(z.object({ ok: z.literal(true) })) } },
    },
    {
      method: 'get',
      path: '/openapi.json',
      summary: 'Read this document',
      needs: 'public',
      answers: { 200: { text: 'OpenAPI 3.1', content: json(z.record(z.string(), z.unknown())) } },
    },
    {
      method: 'get',
      path: '/docs',
      summary: 'Read this document in a browser',
      needs: 'public',
      answers: { 200: { text: 'A page', content: { bytes: 'text/html' } } },
    },
  ],
}
