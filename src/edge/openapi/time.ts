// Snapshots, forks, what lies between two versions, and what can be proved or taken out.

import { z } from 'zod'
import { written } from '../../protocol/resources.ts'
import {
  differenceShown,
  entryKinds,
  eraseBody,
  erasedShown,
  forkBody,
  forkShown,
  mergeBody,
  mergedShown,
  revertBody,
  snapshotBody,
  snapshotObjectShown,
  snapshotShown,
  verifiedShown,
} from '../../protocol/time.ts'
import { answer, json, page, pageOf } from './content.ts'
import type { Section } from './route.ts'
import { query } from './shared.ts'

const world = '/v1/sessions/{session}'
const one = `${world}/snapshots/{name}`
const text = { type: 'string' }

const reverted = written.extend({ changed: z.int() }).meta({ id: 'Reverted' })

export const time: Section = {
  tag: 'Time',
  text: 'Naming a moment of a world, going on from it elsewhere, comparing, taking back, and bringing together. A point is a version, an RFC 3339 time, or `snap:NAME`.',
  routes: [
    {
      method: 'post',
      path: `${world}/snapshots`,
      summary: 'Take a snapshot',
      text: 'Its pages go to R2; those that are there already are not written again. Equal worlds of a fleet have equal roots.',
      needs: 'snapshot',
      parameters: ['idempotency', 'lease'],
      body: { content: json(snapshotBody) },
      answers: { 201: answer('The snapshot', snapshotShown) },
      errors: ['exists', 'no_such_version', 'corrupt'],
    },
    {
      method: 'get',
      path: `${world}/snapshots`,
      summary: 'List snapshots',
      needs: 'read',
      parameters: ['limit', 'cursor'],
      answers: { 200: page('Snapshots by name', snapshotShown) },
    },
    {
      method: 'get',
      path: one,
      summary: 'Describe a snapshot',
      needs: 'read',
      answers: { 200: answer('The snapshot', snapshotShown) },
    },
    {
      method: 'get',
      path: `${one}/objects`,
      summary: 'List what a snapshot consists of in R2',
      text: 'A page ends at a border of the snapshot’s own pages, so a little more or less than `limit` may come.',
      needs: 'read',
      parameters: ['limit', 'cursor'],
      answers: {
        200: { text: 'The manifest, the pages, and each blob', content: json(pageOf(snapshotObjectShown)) },
      },
      errors: ['corrupt'],
    },
    {
      method: 'delete',
      path: one,
      summary: 'Forget a snapshot',
      needs: 'snapshot',
      parameters: ['lease'],
      answers: { 204: { text: 'The name is free' } },
    },
    {
      method: 'post',
      path: `${world}/forks`,
      summary: 'Fork: a new session that begins as this one was',
      text: 'It continues the version numbers, and before its origin it shows its parent’s history. It survives the parent’s deletion.',
      needs: 'fork',
      parameters: ['idempotency'],
      body: { content: json(forkBody), optional: true },
      answers: { 201: answer('The new session', forkShown, 'Location') },
      errors: ['exists', 'no_such_version'],
    },
    {
      method: 'get',
      path: `${world}/diff`,
      summary: 'Compare two versions, or two sessions',
      text: 'What was added, changed and removed, by kind and key; text has `hunks`.',
      needs: 'read',
      parameters: [
        query('from', 'The point before; needed without `with`.', text),
        query('to', 'The point after; without it, the head.', text),
        query('with', 'Another session to compare with.', text),
        query('kind', `One or several with commas: ${entryKinds.join(', ')}.`, text),
        'prefix',
        'limit',
        'cursor',
      ],
      answers: { 200: page('Differences', differenceShown) },
      errors: ['no_such_version', 'corrupt'],
    },
    {
      method: 'post',
      path: `${world}/revert`,
      summary: 'Make the world what it was',
      text: 'A new commit: nothing is lost and no version is used again. The log gets a cut; the active log then goes on from where it was.',
      needs: 'write',
      parameters: ['idempotency', 'lease'],
      body: { content: json(revertBody) },
      answers: { 201: answer('The version that is as that one was', reverted) },
      errors: ['version_mismatch', 'no_such_version'],
    },
    {
      method: 'post',
      path: `${world}/merge`,
      summary: 'Bring over what another session changed',
      text: 'Three-way, entry by entry, against where both were one; all of it in one commit, or none. `choices` settles single references.',
      needs: 'write',
      parameters: ['idempotency', 'lease'],
      body: { content: json(mergeBody) },
      answers: {
        201: answer('What was brought', mergedShown),
        200: answer('What would be brought, of a dry run', mergedShown),
      },
      errors: ['merge_conflict'],
    },
    {
      method: 'get',
      path: `${world}/verify`,
      summary: 'Verify the world',
      text: 'Recomputes every digest, of the chain, of values, of bytes and of snapshots, and names what does not match. A large world takes several requests: `next` is the `cursor` of the one to come.',
      needs: 'read',
      parameters: ['cursor'],
      answers: { 200: answer('What was found', verifiedShown) },
    },
    {
      method: 'post',
      path: `${world}/erase`,
      summary: 'Erase values, for good',
      text: 'Content and salt go from the head, the past, the catalog, pages, bytes, and every fork; digests stay, so every chain still verifies. A reference without a version means every value it ever had. No lease holds it up.',
      needs: 'admin',
      parameters: ['idempotency'],
      body: { content: json(eraseBody) },
      answers: { 200: answer('How many values were erased', erasedShown) },
    },
  ],
}
