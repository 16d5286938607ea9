// Carrying a whole world away, and bringing one in.

import { archiveType } from '../../snapshot/archive.ts'
import { bytes } from './content.ts'
import type { Section } from './route.ts'
import { query } from './shared.ts'

const world = '/v1/sessions/{session}'

export const archive: Section = {
  tag: 'Archives',
  text: 'A world as one tar that any tar tool lists: its pages, its blobs and, when asked for, all that it ever was.',
  routes: [
    {
      method: 'get',
      path: `${world}/export`,
      summary: 'Export the world as a tar',
      text: 'Streamed. An archive without `end.json` was cut off.',
      needs: 'read',
      parameters: [
        'at',
        query('journal', 'With every commit and every earlier value.', {
          type: 'string',
          enum: ['true', 'false'],
          default: 'false',
        }),
      ],
      answers: { 200: { text: 'The archive', content: bytes(archiveType), headers: ['Lares-Version'] } },
      errors: ['no_such_version', 'corrupt'],
    },
  ],
}
