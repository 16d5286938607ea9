// The one table of errors. A code is stable for ever; its status and title never depend on where it arose.

export const errors = {
  unauthenticated: { status: 401, title: 'The credential is missing, unknown, expired or revoked' },
  forbidden: { status: 403, title: 'The credential does not have the scope this needs' },
  not_found: { status: 404, title: 'There is nothing here, or nothing you may see' },
  no_such_version: { status: 404, title: 'The session never had this version' },
  exists: { status: 409, title: 'It is already there' },
  fenced: { status: 409, title: 'The lease token is missing or stale; nothing was written' },
  leased: { status: 409, title: 'Someone else holds the lease' },
  merge_conflict: { status: 409, title: 'Both sides changed the same thing' },
  in_flight: { status: 409, title: 'A request with this idempotency key is still running' },
  gone: { status: 410, title: 'It was deleted or erased, for good' },
  version_mismatch: { status: 412, title: 'The world has moved on from the expected version' },
  condition_failed: { status: 412, title: 'A condition on an operation does not hold' },
  digest_mismatch: { status: 412, title: 'The bytes do not have the declared digest' },
  too_large: { status: 413, title: 'This is larger than the limit' },
  unsupported_media_type: { status: 415, title: 'The body is not of a type this resource takes' },
  range_not_satisfiable: { status: 416, title: 'The range lies outside the file' },
  invalid: { status: 422, title: 'The request is not well-formed' },
  idempotency_mismatch: { status: 422, title: 'The idempotency key was used with another request' },
  sql_error: { status: 422, title: 'The query cannot be run' },
  unknown_call: { status: 422, title: 'The log has no tool call with this id' },
  rate_limited: { status: 429, title: 'Too many requests; try again later' },
  quota_exceeded: { status: 429, title: 'The fleet is over its quota' },
  corrupt: { status: 500, title: 'A stored value does not read back; verify names it' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  unavailable: { status: 503, title: 'Not reachable for the moment; try the same again' },
} as const satisfies Record<string, { status: number; title: string }>

export type ErrorCode = keyof typeof errors

/** What an error may carry to help its reader recover. */
export interface ErrorHints {
  /** JSON Pointer into the request body, or the name of a header or query parameter. */
  pointer?: string
  /** The session's head version. */
  head?: number
  /** The current lease epoch. */
  epoch?: number
  /** The limit that was passed. */
  limit?: number
  /** The event that already has the correlation key. */
  seq?: number
  /** Seconds to wait before trying again. */
  retry_after?: number
  /** What both sides of a merge changed: digests, null for absent. */
  conflicts?: { ref: string; base: string | null; ours: string | null; theirs: string | null }[]
}

/** An expected failure, as a value: what to call it, what to tell, and where. */
export interface Failure extends ErrorHints {
  readonly ok: false
  readonly code: ErrorCode
  readonly detail: string
}

export type Outcome<T> = ({ readonly ok: true } & T) | Failure

export function fail(code: ErrorCode, detail: string, hints: ErrorHints = {}): Failure {
  return { ok: false, code, detail, ...hints }
}

/** RFC 9457 `application/problem+json`. */
export interface Problem extends ErrorHints {
  type: string
  title: string
  status: number
  code: ErrorCode
  detail: string
}

export function toProblem({ ok: _, ...failure }: Failure): Problem {
  const { status, title } = errors[failure.code]
  return { type: `urn:lares:error:${failure.code}`, title, status, ...failure }
}
