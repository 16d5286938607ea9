// Asking about everything at once: SQL, views, lineage.

import { written } from '../../protocol/resources.ts'
import { lineageShown, sqlQuery, sqlShown, viewBody, viewShown } from '../../protocol/tables.ts'
import { answer, anyJson, json, page, unchanged } from './content.ts'
import type { Section } from './route.ts'
import { query } from './shared.ts'

const world = '/v1/sessions/{session}'
const view = `${world}/views/{view}`

export const catalog: Section = {
  tag: 'SQL and lineage',
  text: 'One read-only statement over log, state, memory, files, commits, history, lineage, tables and views, at any version; and where each thing comes from.',
  routes: [
    {
      method: 'post',
      path: `${world}/query`,
      summary: 'Run one SELECT',
      needs: 'read',
      body: { content: json(sqlQuery) },
      answers: { 200: answer('The answer', sqlShown) },
      errors: ['sql_error'],
    },
    {
      method: 'get',
      path: `${world}/query/schema`,
      summary: 'Describe what can be asked, for people and language models',
      needs: 'read',
      parameters: ['at'],
      answers: { 200: answer('Relations, columns, views, dialect and limits', anyJson) },
    },
    {
      method: 'get',
      path: `${world}/views`,
      summary: 'List views',
      needs: 'read',
      parameters: ['at', 'limit', 'cursor'],
      answers: { 200: page('Views by name', viewShown) },
    },
    {
      method: 'get',
      path: view,
      summary: 'Read a view',
      needs: 'read',
      parameters: ['at', 'ifNoneMatch'],
      answers: {
        200: answer('The view', viewShown, 'ETag', 'Lares-Since', 'Cache-Control'),
        304: unchanged,
      },
      errors: ['corrupt'],
    },
    {
      method: 'put',
      path: view,
      summary: 'Define a view',
      needs: 'write',
      parameters: ['idempotency', 'lease', 'ifMatch', 'ifAbsent'],
      body: { content: json(viewBody) },
      answers: { 201: answer('The view is new', written), 200: answer('It replaces another', written) },
      errors: ['exists', 'sql_error'],
    },
    {
      method: 'delete',
      path: view,
      summary: 'Drop a view',
      needs: 'write',
      parameters: ['idempotency', 'lease', 'ifMatch'],
      answers: { 200: answer('It is gone from this version on', written) },
    },
    {
      method: 'get',
      path: `${world}/lineage`,
      summary: 'Follow what made a thing, or what came of it',
      needs: 'read',
      parameters: [
        query('of', 'A reference, such as `row:notes/1` or `file:clip.mp4@12`.', { type: 'string' }),
        query('direction', '`up`: what it was made from; `down`: what came of it.', {
          type: 'string',
          enum: ['up', 'down'],
          default: 'up',
        }),
        query('depth', 'How many steps at most.', { type: 'integer', minimum: 1, default: 10 }),
        'at',
      ],
      answers: { 200: answer('Nodes and edges', lineageShown) },
    },
  ],
}
