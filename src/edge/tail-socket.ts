// Opening a session's tail: what a client's own WebSocket, server-sent events and a waiting read have in common.

import { fail } from '../protocol/errors.ts'
import { type TailRequest, tailHeader } from '../session/rpc.ts'
import type { Visit } from './door.ts'
import { Problem } from './reply.ts'

/**
 * A WebSocket to the object that has seen everything up to `after`.
 *
 * @throws {Problem} when there is no such session, or the credential was revoked a moment ago
 */
export async function openTail(
  { c, who, session, stub }: Visit,
  after: TailRequest['after'],
): Promise<Response> {
  const fleet = c.env.FLEET.get(c.env.FLEET.idFromName(who.fleet))
  // Before the tail is open, so that no revocation can fall between.
  const { revoked } = await fleet.tailOpened([...who.chain], session, who.expiresAt)
  if (revoked) throw new Problem(fail('unauthenticated', 'the credential was revoked'))
  const asked: TailRequest = { after, chain: [...who.chain], expires_at: who.expiresAt }
  // New headers, so that nothing a client sent can pose as what the edge asks.
  const response = await stub.fetch('https://session/tail', {
    headers: { upgrade: 'websocket', [tailHeader]: JSON.stringify(asked) },
  })
  if (response.status !== 101) throw new Problem(await response.json())
  return response
}
