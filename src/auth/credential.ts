// Where a request carries its credential.

/**
 * The `Authorization` header's value, or what stands in for it; null when the request carries nothing.
 *
 * A browser's WebSocket and EventSource can't set headers, so for those two alone `?access_token=` is taken.
 * Elsewhere it is not: addresses end up in logs, histories and referrers.
 */
export function credentialFrom(request: Request): string | null {
  const header = request.headers.get('authorization')
  if (header !== null) return header
  if (request.method !== 'GET' || !(isWebSocket(request) || isEventSource(request))) return null
  const [token, ...others] = new URL(request.url).searchParams.getAll('access_token')
  return token === undefined || others.length > 0 ? null : `Bearer ${token}`
}

/** The text after `Bearer`, which may be written in any case; null for another scheme, or for nothing. */
export function bearerOf(headerValue: string): string | null {
  if (headerValue.length > MAX_LENGTH) return null
  return /^bearer[ \t]+(\S.*)$/i.exec(headerValue.trim())?.[1] ?? null
}

/** Longer than any credential that is ever made here. */
const MAX_LENGTH = 8_192

function isWebSocket(request: Request): boolean {
  return request.headers.get('upgrade')?.toLowerCase() === 'websocket'
}

function isEventSource(request: Request): boolean {
  return request.headers.get('accept')?.toLowerCase().includes('text/event-stream') ?? false
}
