// The state’s routes.

import { stateShown, written } from '../../protocol/resources.ts'
import { answer, anyJson, json, page, unchanged } from './content.ts'
import type { Section } from './route.ts'

const path = '/v1/sessions/{session}/state'
const one = `${path}/{key}`
const conditions = ['idempotency', 'lease', 'ifMatch', 'ifAbsent'] as const

export const state: Section = {
  tag: 'State',
  text: 'JSON values under keys. The body is the value, with nothing around it.',
  routes: [
    {
      method: 'get',
      path,
      summary: 'List keys and values',
      needs: 'read',
      parameters: ['prefix', 'at', 'limit', 'cursor'],
      answers: { 200: page('Entries in the order of their keys, bytewise', stateShown) },
    },
    {
      method: 'get',
      path: one,
      summary: 'Read a value',
      needs: 'read',
      parameters: ['at', 'ifNoneMatch'],
      answers: {
        200: answer('The value', anyJson, 'ETag', 'Lares-Since', 'Cache-Control'),
        304: unchanged,
      },
      errors: ['corrupt'],
    },
    {
      method: 'put',
      path: one,
      summary: 'Set a value',
      needs: 'write',
      parameters: conditions,
      body: { content: json(anyJson) },
      answers: {
        201: answer('The key is new', written),
        200: answer('The value replaces another', written),
      },
    },
    {
      method: 'patch',
      path: one,
      summary: 'Merge into a value',
      text: 'RFC 7396; an absent value is as an empty one.',
      needs: 'write',
      parameters: conditions,
      body: { content: json(anyJson) },
      answers: {
        201: answer('The key is new', written),
        200: answer('The value was changed', written),
      },
    },
    {
      method: 'delete',
      path: one,
      summary: 'Delete a key',
      needs: 'write',
      parameters: conditions,
      answers: { 200: answer('It is gone from this version on', written) },
    },
  ],
}
