// Answers: JSON text with the headers that every answer has, and failures as problems. The one place where an outcome
// becomes an HTTP status.

import { errors, type Failure, toProblem } from '../protocol/errors.ts'
import type { EdgeContext } from './context.ts'
import { corsHeaders } from './cors.ts'

export interface ReplyOptions {
  status?: number
  /** The session's version that the answer speaks of. */
  version?: number | undefined
  headers?: Record<string, string>
}

export function reply(
  c: EdgeContext,
  body: BodyInit | null,
  { status = 200, version, headers }: ReplyOptions = {},
): Response {
  const all: Record<string, string> = {
    'content-type': 'application/json',
    ...corsHeaders,
    'lares-request-id': c.get('requestId'),
    ...headers,
  }
  if (version !== undefined) all['lares-version'] = String(version)
  return new Response(body, { status, headers: all })
}

export function replyJson(c: EdgeContext, value: unknown, options?: ReplyOptions): Response {
  return reply(c, JSON.stringify(value), options)
}

/** 204 and 304 carry no body, and no type of one. */
export function replyEmpty(
  c: EdgeContext,
  status: 204 | 304,
  { version, headers = {} }: ReplyOptions = {},
): Response {
  const all: Record<string, string> = { ...corsHeaders, 'lares-request-id': c.get('requestId'), ...headers }
  if (version !== undefined) all['lares-version'] = String(version)
  return new Response(null, { status, headers: all })
}

export function replyFailure(c: EdgeContext, failure: Failure, extra: Record<string, string> = {}): Response {
  const { status } = errors[failure.code]
  const headers: Record<string, string> = { 'content-type': 'application/problem+json', ...extra }
  if (status === 401) headers['www-authenticate'] = 'Bearer'
  if (status === 429 || status === 503) headers['retry-after'] = String(failure.retry_after ?? 1)
  return replyJson(c, toProblem(failure), { status, version: failure.head, headers })
}

/** Thrown by the readers of requests, so that a handler reads as what it does when all is well. */
export class Problem extends Error {
  readonly failure: Failure
  constructor(failure: Failure) {
    super(failure.detail)
    this.failure = failure
  }
}
