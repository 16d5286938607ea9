// Bytes without a name yet, in one request or in parts.

import { z } from 'zod'
import { limits } from '../../protocol/limits.ts'
import { blobShown } from '../../protocol/resources.ts'
import { sha256 } from '../../protocol/values.ts'
import { missingBody } from '../blobs.ts'
import { uploadBody, uploadCompleteBody } from '../uploads.ts'
import { answer, bytes, json, unchanged } from './content.ts'
import type { Section } from './route.ts'

const world = '/v1/sessions/{session}'
const one = `${world}/blobs/{sha256}`
const upload = `${world}/uploads/{upload}`

const part = z.object({ part: z.int(), size: z.int() })
const uploadShown = z.object({
  upload: z.string(),
  part_size: z.int(),
  size: z.int().nullable().meta({ description: 'As announced; of a complete upload, its bytes' }),
  parts: z.array(part),
  blob: sha256.optional().meta({ description: 'Once it is complete' }),
})

export const blobs: Section = {
  tag: 'Blobs',
  text: 'Bytes on their way into a commit: `file.put` names a blob that this session holds. Each takes the scope `write` or `files:PREFIX`.',
  routes: [
    {
      method: 'put',
      path: one,
      summary: 'Bring bytes',
      text: 'The same bytes again are no new blob.',
      needs: 'any',
      parameters: ['contentDigest', 'lease'],
      body: { content: bytes(), optional: true },
      answers: { 201: answer('They are there', blobShown) },
      errors: ['digest_mismatch'],
    },
    {
      method: 'get',
      path: one,
      summary: 'Read bytes that this session refers to',
      needs: 'read',
      parameters: ['range', 'ifRange', 'ifNoneMatch'],
      answers: {
        200: { text: 'The bytes', content: bytes(), headers: ['Lares-Version', 'ETag'] },
        206: { text: 'The range', content: bytes(), headers: ['Lares-Version', 'ETag', 'Content-Range'] },
        304: unchanged,
      },
      errors: ['range_not_satisfiable', 'corrupt'],
    },
    {
      method: 'post',
      path: `${world}/blobs/missing`,
      summary: 'Ask which bytes are still to be brought',
      text: 'What is not missing can be named for a day.',
      needs: 'any',
      body: { content: json(missingBody) },
      answers: { 200: answer('What this session does not hold', z.object({ missing: z.array(sha256) })) },
    },
    {
      method: 'post',
      path: `${world}/blobs`,
      summary: 'Bring many blobs in one archive',
      text: `A tar whose entries are named by their SHA-256, streamed, of at most ${limits.archiveBlobs} blobs. All of them or none.`,
      needs: 'any',
      parameters: ['lease'],
      body: { content: bytes('application/x-tar') },
      answers: {
        200: answer('How many were not here before', z.object({ stored: z.int(), bytes: z.int() })),
      },
      errors: ['digest_mismatch', 'unsupported_media_type'],
    },
    {
      method: 'post',
      path: `${world}/uploads`,
      summary: 'Begin an upload in parts',
      text: `For bytes of any size: parts of \`part_size\`, all equal but the last, at most ${limits.parts}, in any order, side by side, and again. An upload that gets no part for a day is forgotten.`,
      needs: 'any',
      parameters: ['lease'],
      body: { content: json(uploadBody), optional: true },
      answers: { 201: answer('It has begun', z.object({ upload: z.string(), part_size: z.int() })) },
    },
    {
      method: 'get',
      path: upload,
      summary: 'See which parts have arrived',
      needs: 'any',
      answers: { 200: answer('The upload', uploadShown) },
    },
    {
      method: 'put',
      path: `${upload}/parts/{part}`,
      summary: 'Send a part',
      needs: 'any',
      parameters: ['contentDigest', 'lease'],
      body: { content: bytes() },
      answers: { 200: answer('It has arrived', part) },
      errors: ['digest_mismatch'],
    },
    {
      method: 'post',
      path: `${upload}/complete`,
      summary: 'Join the parts to a blob',
      text: 'Again is no error. With a `digest` that is not that of the bytes, the upload is forgotten.',
      needs: 'any',
      parameters: ['lease'],
      body: { content: json(uploadCompleteBody) },
      answers: { 200: answer('A blob, for `file.put` to name', blobShown) },
      errors: ['digest_mismatch'],
    },
    {
      method: 'delete',
      path: upload,
      summary: 'Give an upload up',
      needs: 'any',
      parameters: ['lease'],
      answers: { 204: { text: 'It is forgotten' } },
    },
  ],
}
