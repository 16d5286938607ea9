// Fleets, keys, tokens, and what goes on in all sessions.

import {
  fleetCommit,
  fleetShown,
  keyBody,
  keyGranted,
  tokenBody,
  tokenGranted,
} from '../../protocol/resources.ts'
import { sweepBody, sweepShown } from '../sweep.ts'
import { json, pageOf } from './content.ts'
import type { Section } from './route.ts'
import { query } from './shared.ts'

export const fleet: Section = {
  tag: 'Fleet',
  text: 'A fleet is an isolated set of sessions with its own keys. The fleet `default` is always there.',
  routes: [
    {
      method: 'put',
      path: '/v1/fleets/{fleet}',
      summary: 'Make a fleet, or find it there',
      needs: 'root',
      answers: {
        201: { text: 'It was made', content: json(fleetShown) },
        200: { text: 'It was there', content: json(fleetShown) },
      },
    },
    {
      method: 'post',
      path: '/v1/fleets/{fleet}/keys',
      summary: 'Make an API key',
      text: 'The key is shown this once; only its hash is kept.',
      needs: 'root',
      body: { content: json(keyBody), optional: true },
      answers: { 201: { text: 'The key', content: json(keyGranted), headers: ['Cache-Control'] } },
      errors: ['not_found'],
    },
    {
      method: 'delete',
      path: '/v1/fleets/{fleet}/keys/{id}',
      summary: 'Delete a key, and void every token it minted',
      needs: 'root',
      answers: { 204: { text: 'It is void' } },
      errors: ['not_found'],
    },
    {
      method: 'post',
      path: '/v1/tokens',
      summary: 'Mint a session token',
      text: 'For one `session` or a `pattern` with `*`. It is never wider than the credential that mints it, nor does it live longer.',
      needs: 'any',
      body: { content: json(tokenBody) },
      answers: { 201: { text: 'The token', content: json(tokenGranted), headers: ['Cache-Control'] } },
    },
    {
      method: 'delete',
      path: '/v1/tokens/{id}',
      summary: 'Revoke a token, and every token minted under it',
      text: 'A key may revoke any token of its fleet, a token itself alone. It holds everywhere within 10 seconds, and live tails are closed.',
      needs: 'any',
      answers: { 204: { text: 'It is void' } },
      errors: ['not_found'],
    },
    {
      method: 'get',
      path: '/v1/commits',
      summary: 'List commits of all sessions',
      text: 'From the catalog, by time. A session whose projection comes late adds commits behind a cursor that was given already; `projected_version` tells.',
      needs: 'read',
      parameters: [query('after', 'The same as `cursor`.', { type: 'string' }), 'limit', 'cursor'],
      answers: { 200: { text: 'Commits', content: json(pageOf(fleetCommit)) } },
    },
    {
      method: 'post',
      path: '/v1/sweep',
      summary: 'Remove bytes to which nothing refers',
      text: 'What the clock does by itself. With `dry_run` it lists what would go; it stops when that is most of what there is, unless forced.',
      needs: 'root',
      body: { content: json(sweepBody), optional: true },
      answers: { 200: { text: 'What went, or would go', content: json(sweepShown) } },
    },
  ],
}
