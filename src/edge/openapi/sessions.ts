// Making, describing, changing and deleting sessions.

import { sessionCreate, sessionListed, sessionPatch, sessionShown } from '../../protocol/resources.ts'
import { answer, json, pageOf } from './content.ts'
import type { Section } from './route.ts'
import { query } from './shared.ts'

const made = answer('The session, just made', sessionShown, 'Location')
const one = '/v1/sessions/{session}'

export const sessions: Section = {
  tag: 'Sessions',
  text: 'A session is one agent’s world. A deleted one answers 410 to everything, for good.',
  routes: [
    {
      method: 'get',
      path: '/v1/sessions',
      summary: 'List the fleet’s sessions',
      text: 'From the catalog, which may lag: each item has `version` and `projected_version`. `label.KEY=VALUE` may be given several times.',
      needs: 'read',
      parameters: [
        query('label.{key}', 'Only sessions with this label; the key is part of the parameter’s name.', {
          type: 'string',
        }),
        query('updated_after', 'Only sessions updated later than this RFC 3339 time.', {
          type: 'string',
          format: 'date-time',
        }),
        'prefix',
        query('q', 'Part of the id or of the title, in any case.', { type: 'string' }),
        query('order', 'Newest first, or by id upwards.', {
          type: 'string',
          enum: ['updated', 'created', 'id'],
          default: 'updated',
        }),
        'limit',
        'cursor',
      ],
      answers: { 200: { text: 'Sessions', content: json(pageOf(sessionListed)) } },
    },
    {
      method: 'post',
      path: '/v1/sessions',
      summary: 'Make a session with a name of its own',
      text: 'With an idempotency key the name follows from the key, so that a retry finds the same session.',
      needs: 'write',
      parameters: ['idempotency'],
      body: { content: json(sessionCreate), optional: true },
      answers: { 201: made, 200: answer('It was made by an earlier try', sessionShown, 'Location') },
      errors: ['gone'],
    },
    {
      method: 'put',
      path: one,
      summary: 'Make a session, or find it there',
      text: 'One that is there stays as it is.',
      needs: 'write',
      parameters: ['idempotency'],
      body: { content: json(sessionCreate), optional: true },
      answers: { 201: made, 200: answer('The session that is there, unchanged', sessionShown, 'Location') },
    },
    {
      method: 'get',
      path: one,
      summary: 'Describe a session',
      needs: 'read',
      answers: { 200: answer('The session', sessionShown, 'Cache-Control') },
    },
    {
      method: 'patch',
      path: one,
      summary: 'Change title, labels, expiry or retention',
      text: 'A merge patch (RFC 7396). `expires_in` and `retention` take the scope `admin`.',
      needs: 'write',
      parameters: ['idempotency', 'lease'],
      body: { content: json(sessionPatch) },
      answers: { 200: answer('The session as it is now', sessionShown) },
    },
    {
      method: 'delete',
      path: one,
      summary: 'Delete a session, for good',
      text: 'Again is no error. Its name is never free again.',
      needs: 'admin',
      answers: { 204: { text: 'It is gone' } },
    },
  ],
}
