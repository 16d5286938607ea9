// Carrying a whole world away, and bringing one in.

import { sessionShown } from '../../protocol/resources.ts'
import { restoreBody } from '../../protocol/time.ts'
import { archiveType } from '../../snapshot/archive.ts'
import { answer, bytes, json } from './content.ts'
import type { Section } from './route.ts'
import { pathParameters, query } from './shared.ts'

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
    {
      method: 'post',
      path: '/v1/import',
      summary: 'Make a session of an archive',
      text: 'In one pass, whatever its size; the session is there once all of it is verified, and not before. What is wrong is named by its member, and leaves nothing. With a journal the session has the same versions and the same chain; without one it begins at the version of the archive.',
      needs: 'write',
      parameters: [
        query('session', 'What the session is to be called.', pathParameters.session?.schema ?? {}),
        'idempotency',
      ],
      body: { content: bytes(archiveType) },
      answers: { 201: answer('The session, just made', sessionShown, 'Location') },
      errors: [
        'exists',
        'in_flight',
        'gone',
        'digest_mismatch',
        'too_large',
        'unsupported_media_type',
        'corrupt',
      ],
    },
    {
      method: 'post',
      path: `${world}/restore`,
      summary: 'Bring a lost session back from a snapshot',
      text: 'For a session that the catalog knows and whose object has lost its rows. It is what it was at the snapshot; its earlier versions, and what came later, are lost.',
      needs: 'admin',
      parameters: ['idempotency'],
      body: { content: json(restoreBody) },
      answers: { 201: answer('The session as it was at the snapshot', sessionShown, 'Location') },
      errors: ['exists', 'in_flight', 'corrupt', 'digest_mismatch'],
    },
  ],
}
