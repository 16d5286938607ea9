// The log’s routes.

import { limits } from '../../protocol/limits.ts'
import { eventShown, logAppended, logBody } from '../../protocol/resources.ts'
import { answer, json, page, unchanged } from './content.ts'
import type { Section } from './route.ts'
import { query } from './shared.ts'

const path = '/v1/sessions/{session}/log'
const whole = { type: 'integer', minimum: 0 }

export const log: Section = {
  tag: 'Log',
  text: 'Events in the order in which they were accepted. `seq` orders them; time is a label.',
  routes: [
    {
      method: 'post',
      path,
      summary: 'Append one event, or several in one commit',
      text: 'With the lane `inbox` it needs no lease.',
      needs: 'append',
      parameters: ['idempotency', 'lease'],
      body: { content: json(logBody) },
      answers: { 201: answer('Where they are', logAppended) },
      errors: ['exists', 'unknown_call'],
    },
    {
      method: 'get',
      path,
      summary: 'Read events',
      needs: 'read',
      parameters: [
        query('after', 'Only events with a greater `seq`.', whole),
        query('before', 'Only events with a smaller `seq`.', whole),
        'order',
        query('type', 'Only events of this type.', { type: 'string' }),
        query('lane', 'Only events of this lane.', { type: 'string', enum: ['main', 'inbox'] }),
        query('view', '`active` passes over what was reverted; `all` shows it.', {
          type: 'string',
          enum: ['active', 'all'],
          default: 'active',
        }),
        query('wait', 'Seconds to hold an empty answer until something comes; not together with `at`.', {
          ...whole,
          maximum: limits.waitSeconds,
        }),
        'at',
        'limit',
        'cursor',
      ],
      answers: { 200: page('Events', eventShown) },
    },
    {
      method: 'get',
      path: `${path}/pending`,
      summary: 'List tool calls that have no result',
      needs: 'read',
      parameters: ['at', 'limit', 'cursor'],
      answers: { 200: page('Events of type `tool_call`', eventShown) },
    },
    {
      method: 'get',
      path: `${path}/{seq}`,
      summary: 'Read one event',
      needs: 'read',
      parameters: ['at', 'ifNoneMatch'],
      answers: {
        200: answer('The event', eventShown, 'ETag', 'Lares-Since', 'Cache-Control'),
        304: unchanged,
      },
      errors: ['corrupt'],
    },
  ],
}
