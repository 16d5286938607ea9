// The caller as the object needs to know it: actor, lease token, idempotency.

import { fileListPrefixes } from '../auth/scopes.ts'
import { hashes } from '../crypto.ts'
import type { Caller } from '../session/rpc.ts'
import type { EdgeContext } from './context.ts'
import { idempotencyKey } from './door.ts'

/**
 * @param asked what makes the request what it is: its body, or what stands for it. A retry that asks for something else
 * under the same key is refused.
 */
export function callerOf(c: EdgeContext, asked: string): Caller {
  const caller: Caller = { actor: c.get('who').actor }
  const within = fileListPrefixes(c.get('who'))
  if (within !== null) caller.within = within
  const lease = c.req.header('lares-lease')
  if (lease !== undefined) caller.lease = lease
  const key = idempotencyKey(c)
  if (key !== null) {
    const route = `${c.req.method} ${c.req.path}`
    const conditions = `${c.req.header('if-match') ?? ''}\n${c.req.header('if-none-match') ?? ''}`
    caller.idempotency = {
      key: `${route}\n${key}`,
      request: hashes.sha256(`${route}\n${conditions}\n`, asked),
    }
  }
  return caller
}
