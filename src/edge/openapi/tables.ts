// Tables and their rows.

import { written } from '../../protocol/resources.ts'
import {
  deleteBody,
  recomputeBody,
  rowPatch,
  rowShown,
  rowsBody,
  rowsQuery,
  rowsWritten,
  tableBody,
  tablePatch,
  tableShown,
  updateBody,
} from '../../protocol/tables.ts'
import { answer, json, page, unchanged } from './content.ts'
import type { Section } from './route.ts'

const path = '/v1/sessions/{session}/tables'
const one = `${path}/{table}`
const row = `${one}/rows/{row}`
const writing = ['idempotency', 'lease'] as const
const conditions = [...writing, 'ifMatch'] as const
const read = ['ETag', 'Lares-Since', 'Cache-Control'] as const

export const tables: Section = {
  tag: 'Tables',
  text: 'Rows of typed columns. A row that is refused names itself and its column in `pointer`.',
  routes: [
    {
      method: 'get',
      path,
      summary: 'List tables',
      needs: 'read',
      parameters: ['at', 'limit', 'cursor'],
      answers: { 200: page('Tables by name', tableShown) },
    },
    {
      method: 'get',
      path: one,
      summary: 'Read a table’s definition',
      needs: 'read',
      parameters: ['at', 'ifNoneMatch'],
      answers: { 200: answer('The definition', tableShown, ...read), 304: unchanged },
      errors: ['corrupt'],
    },
    {
      method: 'put',
      path: one,
      summary: 'Define a table',
      text: 'A table that is there gets the columns it lacks. What would lose something is done by `PATCH`, by name.',
      needs: 'write',
      parameters: [...conditions, 'ifAbsent'],
      body: { content: json(tableBody) },
      answers: { 201: answer('The table is new', written), 200: answer('It was there', written) },
      errors: ['exists'],
    },
    {
      method: 'patch',
      path: one,
      summary: 'Alter a table: rename, drop, add, change, in this order',
      needs: 'write',
      parameters: conditions,
      body: { content: json(tablePatch) },
      answers: { 200: answer('It was altered', written) },
      errors: ['exists'],
    },
    {
      method: 'delete',
      path: one,
      summary: 'Drop a table and its rows',
      needs: 'write',
      parameters: conditions,
      answers: { 200: answer('It is gone from this version on', written) },
    },
    {
      method: 'post',
      path: `${one}/rows`,
      summary: 'Insert rows: all of them, or none',
      needs: 'write',
      parameters: writing,
      body: { content: json(rowsBody) },
      answers: { 201: answer('They were inserted', rowsWritten) },
      errors: ['exists'],
    },
    {
      method: 'get',
      path: `${one}/rows`,
      summary: 'List rows',
      needs: 'read',
      parameters: ['at', 'limit', 'cursor'],
      answers: { 200: page('Rows by name', rowShown) },
    },
    {
      method: 'get',
      path: row,
      summary: 'Read a row',
      needs: 'read',
      parameters: ['at', 'ifNoneMatch'],
      answers: { 200: answer('The row', rowShown, ...read), 304: unchanged },
      errors: ['corrupt'],
    },
    {
      method: 'patch',
      path: row,
      summary: 'Change columns of a row',
      needs: 'write',
      parameters: conditions,
      body: { content: json(rowPatch) },
      answers: { 200: answer('It was changed', rowsWritten) },
      errors: ['exists'],
    },
    {
      method: 'delete',
      path: row,
      summary: 'Delete a row',
      needs: 'write',
      parameters: conditions,
      answers: { 200: answer('It is gone from this version on', rowsWritten) },
    },
    {
      method: 'post',
      path: `${one}/query`,
      summary: 'Find rows by filter and order',
      text: 'All pages of one list speak of the version of the first.',
      needs: 'read',
      body: { content: json(rowsQuery) },
      answers: { 200: page('Rows', rowShown) },
    },
    {
      method: 'post',
      path: `${one}/update`,
      summary: 'Change all rows that a filter finds',
      needs: 'write',
      parameters: writing,
      body: { content: json(updateBody) },
      answers: { 200: answer('They were changed', rowsWritten) },
      errors: ['exists'],
    },
    {
      method: 'post',
      path: `${one}/delete`,
      summary: 'Delete all rows that a filter finds',
      needs: 'write',
      parameters: writing,
      body: { content: json(deleteBody) },
      answers: { 200: answer('They are gone from this version on', rowsWritten) },
    },
    {
      method: 'post',
      path: `${one}/recompute`,
      summary: 'Compute a column again: every cell, or those that failed',
      needs: 'write',
      parameters: writing,
      body: { content: json(recomputeBody) },
      answers: { 200: answer('The cells are pending', rowsWritten) },
    },
  ],
}
