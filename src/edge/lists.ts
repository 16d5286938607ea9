// Lists: `{"items": […], "next": …}` around what the object built.

import { encodeCursor, parseWhole } from '../protocol/paging.ts'
import type { PageRead } from '../session/rpc.ts'
import type { EdgeContext } from './context.ts'
import type { Visit } from './door.ts'
import { reply } from './reply.ts'
import { fill } from './spill.ts'

/** @param list names the list a cursor belongs to, so that it cannot be taken to another */
export function replyPage({ c, who }: Visit, list: string, page: PageRead): Response {
  const next = page.next === null ? 'null' : JSON.stringify(encodeCursor(list, page.next))
  const body = fill(c.env, who.fleet, ['{"items":[', ...page.items, `],"next":${next}}`])
  return reply(c, body, { version: page.version, headers: readHeaders(isFixed(c)) })
}

/** Headers of a read: immutable where it speaks of a fixed version. */
export function readHeaders(fixed: boolean): Record<string, string> {
  return { 'cache-control': fixed ? 'private, immutable, max-age=31536000' : 'private, no-cache' }
}

/** Whether `at` names a version: what is read then can be kept for ever. */
export function isFixed(c: EdgeContext): boolean {
  return parseWhole(c.req.query('at') ?? '') !== null
}

/** True when the client has this very value already. */
export function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag || tag.trim() === '*')
}
