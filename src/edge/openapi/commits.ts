// Writing anything, the journal of what was written, and following it.

import { commitBody } from '../../protocol/ops.ts'
import { commitInFull, commitListed, commitShown } from '../../protocol/resources.ts'
import { answer, json, page, unchanged } from './content.ts'
import type { Section } from './route.ts'
import { header, query } from './shared.ts'

const world = '/v1/sessions/{session}'
const after = query('after', 'Only later versions.', { type: 'integer', minimum: 0 })

export const commits: Section = {
  tag: 'Commits',
  text: 'A commit is one atomic change of a world, of any mix of kinds, and makes exactly one version.',
  routes: [
    {
      method: 'post',
      path: `${world}/commits`,
      summary: 'Commit operations: all of them, or none',
      text: '`expect` is the version the world must be at. `if`, on an operation, is what its entry must be before the commit. Each kind of operation takes the scope of its kind.',
      needs: 'any',
      parameters: ['idempotency', 'lease'],
      body: { content: json(commitBody) },
      answers: { 201: answer('The version it made, and a result for each operation, in order', commitShown) },
      errors: ['version_mismatch', 'condition_failed', 'exists', 'unknown_call'],
    },
    {
      method: 'get',
      path: `${world}/commits`,
      summary: 'List commits',
      needs: 'read',
      parameters: [
        after,
        query('before', 'Only earlier versions.', { type: 'integer', minimum: 0 }),
        'order',
        'limit',
        'cursor',
      ],
      answers: { 200: page('Commits', commitListed) },
    },
    {
      method: 'get',
      path: `${world}/commits/{version}`,
      summary: 'Read a commit in full',
      text: 'With each value, its salt and its digest: everything that the commit’s digest covers.',
      needs: 'read',
      parameters: ['ifNoneMatch'],
      answers: { 200: answer('The commit', commitInFull, 'ETag', 'Cache-Control'), 304: unchanged },
      errors: ['no_such_version'],
    },
    {
      method: 'get',
      path: `${world}/tail`,
      summary: 'Follow commits as they happen',
      text: [
        'Server-sent events: `commit`, whose `id` is the version, and `gap` (`{"head": n}`) when the given version cannot be continued from.',
        'Sent as a WebSocket upgrade, the same path gives the same messages as `{"event", "id", "data"}`; it closes with 4401 when the credential ends and 4410 when the session is deleted.',
        'Where a client cannot set headers, `access_token` may carry the credential.',
      ].join(' '),
      needs: 'read',
      parameters: [
        query('after', 'The last version seen; without it, only what is to come.', {
          type: 'integer',
          minimum: 0,
        }),
        header('Last-Event-ID', 'The last version seen; goes before `after`.', { type: 'string' }),
        query('access_token', 'The credential, for a WebSocket or an EventSource alone.', { type: 'string' }),
      ],
      answers: {
        101: { text: 'A WebSocket, when an upgrade was asked for' },
        200: { text: 'Events', content: { bytes: 'text/event-stream' }, headers: ['Lares-Version'] },
      },
    },
  ],
}
