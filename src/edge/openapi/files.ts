// Files: bytes under paths.

import { z } from 'zod'
import { limits } from '../../protocol/limits.ts'
import { fileMode } from '../../protocol/ops.ts'
import { filePutShown, fileShown, prefixShown, written } from '../../protocol/resources.ts'
import { answer, bytes, page, unchanged } from './content.ts'
import type { Answer, Section } from './route.ts'
import { header, query } from './shared.ts'

const world = '/v1/sessions/{session}'
const path = `${world}/files`
const one = `${path}/{path}`

const fileHeaders = [
  'Lares-Version',
  'ETag',
  'Lares-Since',
  'Lares-Blob',
  'Lares-Mode',
  'Lares-Mtime',
  'Cache-Control',
] as const
const whole: Answer = { text: 'The file’s bytes', content: bytes('*/*'), headers: fileHeaders }
const mark = z.literal(true).optional()
const unreadable = z
  .object({ path: z.string(), since: z.int(), corrupt: mark, erased: mark })
  .meta({ description: 'A file whose entry does not read back, or was erased' })

export const files: Section = {
  tag: 'Files',
  text: `Bytes under paths, of any size; more than ${limits.requestFileBytes} of them come in parts. Served as attachments, never as pages.`,
  routes: [
    {
      method: 'get',
      path,
      summary: 'List files',
      text: 'With a delimiter, what lies beneath it is listed once, as its prefix. With `format=tar`, the files themselves come as one archive. A credential with `files:PREFIX` sees its folders.',
      needs: 'any',
      parameters: [
        'prefix',
        query('delimiter', 'What parts folders.', { type: 'string', const: '/' }),
        query('format', '`tar`: the files themselves, streamed.', { type: 'string', enum: ['json', 'tar'] }),
        'at',
        'limit',
        'cursor',
      ],
      answers: {
        200: page(
          'Files in the order of their paths, bytewise',
          z.union([fileShown, prefixShown, unreadable]),
        ),
      },
    },
    {
      method: 'get',
      path: one,
      summary: 'Read a file',
      needs: 'any',
      parameters: ['at', 'range', 'ifRange', 'ifNoneMatch'],
      answers: {
        200: whole,
        206: { ...whole, text: 'The range', headers: [...fileHeaders, 'Content-Range'] },
        304: unchanged,
      },
      errors: ['range_not_satisfiable', 'corrupt'],
    },
    {
      method: 'head',
      path: one,
      summary: 'Describe a file',
      needs: 'any',
      parameters: ['at', 'ifNoneMatch'],
      answers: { 200: { text: 'What the file is, in headers', headers: fileHeaders }, 304: unchanged },
      errors: ['corrupt'],
    },
    {
      method: 'put',
      path: one,
      summary: 'Write a file',
      text: 'Its type is the `Content-Type`. What is too large for one request is uploaded in parts.',
      needs: 'any',
      parameters: [
        'contentDigest',
        header('Lares-Mode', 'The file’s mode.', {
          type: 'string',
          enum: fileMode.options,
          default: '100644',
        }),
        header('Lares-Mtime', 'When it was changed, RFC 3339.', { type: 'string', format: 'date-time' }),
        'idempotency',
        'lease',
        'ifMatch',
        'ifAbsent',
      ],
      body: { content: bytes('*/*'), optional: true },
      answers: {
        201: answer('The path is new', filePutShown),
        200: answer('The file replaces another', filePutShown),
      },
      errors: ['digest_mismatch'],
    },
    {
      method: 'delete',
      path: one,
      summary: 'Delete a file',
      needs: 'any',
      parameters: ['idempotency', 'lease', 'ifMatch', 'ifAbsent'],
      answers: { 200: answer('It is gone from this version on', written) },
    },
  ],
}
