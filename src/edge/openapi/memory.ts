// Memory's routes.

import { z } from 'zod'
import {
  memoryBody,
  memoryPatch,
  memorySettings,
  memoryShown,
  memoryState,
  memoryWritten,
  recallBody,
  recallShown,
  reembedBody,
  reembedded,
} from '../../protocol/memory.ts'
import { written } from '../../protocol/resources.ts'
import { answer, json, page, unchanged } from './content.ts'
import type { Section } from './route.ts'
import { query } from './shared.ts'

const base = '/v1/sessions/{session}'
const all = `${base}/memories`
const one = `${all}/{memory}`
const conditions = ['idempotency', 'lease', 'ifMatch', 'ifAbsent'] as const

export const memory: Section = {
  tag: 'Memory',
  text: 'Texts to be found again: by their words, by what they are near to, or by both. docs/memory.md tells how.',
  routes: [
    {
      method: 'post',
      path: all,
      summary: 'Remember',
      needs: 'write',
      parameters: conditions,
      body: { content: json(memoryBody) },
      answers: { 201: answer('It is remembered', memoryWritten) },
      errors: ['exists'],
    },
    {
      method: 'get',
      path: all,
      summary: 'List memories',
      needs: 'read',
      parameters: [
        query('tag', 'Only memories that have this tag.', { type: 'string' }),
        query('filter', 'A filter as JSON; docs/filters.md.', { type: 'string' }),
        query('pinned', 'Only those that are pinned, or those that are not.', { type: 'boolean' }),
        'at',
        'limit',
        'cursor',
      ],
      answers: { 200: page('Memories in the order of their ids, bytewise', memoryShown) },
    },
    {
      method: 'get',
      path: one,
      summary: 'Read a memory',
      needs: 'read',
      parameters: [
        query('vector', 'With its vector.', { type: 'boolean', default: false }),
        'at',
        'ifNoneMatch',
      ],
      answers: {
        200: answer(
          'The memory',
          memoryShown
            .extend({ vector: z.array(z.number()).nullable().optional() })
            .meta({ id: 'MemoryInFull' }),
          'ETag',
          'Lares-Since',
          'Cache-Control',
        ),
        304: unchanged,
      },
      errors: ['corrupt'],
    },
    {
      method: 'patch',
      path: one,
      summary: 'Change a memory',
      text: 'What is not named stays. `meta` is merged (RFC 7396). Another text without a vector loses the one it had.',
      needs: 'write',
      parameters: conditions,
      body: { content: json(memoryPatch) },
      answers: { 200: answer('It is changed', memoryWritten) },
    },
    {
      method: 'delete',
      path: one,
      summary: 'Forget a memory',
      needs: 'write',
      parameters: conditions,
      answers: { 200: answer('It is gone from this version on', memoryWritten) },
    },
    {
      method: 'post',
      path: `${base}/recall`,
      summary: 'Recall',
      text: 'The filter is applied before the nearest are chosen. Scores are finite; `why` tells what each half found.',
      needs: 'read',
      body: { content: json(recallBody) },
      answers: { 200: answer('The best first', recallShown) },
      errors: ['no_such_version'],
    },
    {
      method: 'get',
      path: `${base}/memory`,
      summary: 'Show which vectors memory has',
      needs: 'read',
      answers: { 200: answer('Provider, model, dimensions, and how many have one', memoryState) },
    },
    {
      method: 'put',
      path: `${base}/memory`,
      summary: 'Choose which vectors memory has',
      text: 'Kept as state under `lares.memory`. Memories with vectors of another model keep them, and are re-embedded.',
      needs: 'write',
      parameters: ['idempotency', 'lease'],
      body: { content: json(memorySettings) },
      answers: { 200: answer('It is chosen', written) },
    },
    {
      method: 'post',
      path: `${base}/memory/reembed`,
      summary: 'Embed what has no vector of the model',
      text: 'A bounded step; ask again while `missing` is not 0.',
      needs: 'write',
      parameters: ['idempotency', 'lease'],
      body: { optional: true, content: json(reembedBody) },
      answers: { 200: answer('How many now have one, and how many do not', reembedded) },
    },
  ],
}
