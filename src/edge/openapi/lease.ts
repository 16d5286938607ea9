// The lease’s routes.

import { leaseBody, leaseGranted, leaseRenew } from '../../protocol/resources.ts'
import { answer, json } from './content.ts'
import type { Section } from './route.ts'

const path = '/v1/sessions/{session}/lease'

export const lease: Section = {
  tag: 'Lease',
  text: 'The exclusive right to write a session. A token is new at every acquisition, and an older epoch never writes again.',
  routes: [
    {
      method: 'post',
      path,
      summary: 'Take the lease',
      text: '`steal` takes it from whoever has it, and takes the scope `lease`.',
      needs: 'write',
      parameters: ['idempotency'],
      body: { content: json(leaseBody) },
      answers: { 201: answer('It is yours', leaseGranted) },
      errors: ['leased'],
    },
    {
      method: 'put',
      path,
      summary: 'Hold it for longer',
      text: 'From now, for `ttl` seconds or as long as before. Every write by the holder does the same.',
      needs: 'write',
      parameters: ['lease'],
      body: { content: json(leaseRenew), optional: true },
      answers: { 200: answer('It is still yours', leaseGranted) },
    },
    {
      method: 'delete',
      path,
      summary: 'Give it back',
      needs: 'write',
      parameters: ['lease'],
      answers: { 204: { text: 'It is free', headers: ['Lares-Version'] } },
    },
  ],
}
