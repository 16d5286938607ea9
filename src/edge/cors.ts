// Browsers of any origin may speak to the edge: who asks is told by the token in the request alone, never by a cookie, so another
// page can do nothing that it could not do from anywhere.

/** On every answer. `*` shows all headers of an answer to a request without cookies. */
export const corsHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': '*',
} as const

const preflightHeaders = {
  ...corsHeaders,
  'access-control-allow-methods': 'GET, HEAD, PUT, POST, PATCH, DELETE',
  // `*` does not stand for Authorization.
  'access-control-allow-headers':
    'Authorization, Content-Type, Content-Digest, Idempotency-Key, If-Match, If-None-Match, If-Range, Last-Event-ID, Lares-Fleet, Lares-Lease, Lares-Mode, Lares-Mtime, Range',
  'access-control-max-age': '86400',
} as const

/** What a browser asks before it sends anything of its own. */
export function preflight(requestId: string): Response {
  return new Response(null, { status: 204, headers: { ...preflightHeaders, 'lares-request-id': requestId } })
}
