// What can go wrong, as two classes: the edge answered with a problem (LaresError), or nothing answered (NetworkError).
// Callers decide by `code`, which is stable for ever; the texts are for people.

import { type ErrorCode, errors } from '../protocol/errors.ts'
import { numberIn, retryAfter } from './headers.ts'

export type { ErrorCode }

/** What an error asks of its reader; see {@link LaresError.family}. */
export type ErrorFamily = 'access' | 'missing' | 'conflict' | 'condition' | 'request' | 'busy' | 'server'

/** The members of an RFC 9457 problem that the SDK knows; others stay readable under `problem`. */
export interface LaresErrorInit {
  status: number
  code: string
  detail?: string | undefined
  pointer?: string | undefined
  head?: number | undefined
  epoch?: number | undefined
  limit?: number | undefined
  seq?: number | undefined
  current?: unknown
  retry_after?: number | undefined
  request_id?: string | undefined
  version?: number | undefined
  problem?: Readonly<Record<string, unknown>> | undefined
}

/**
 * The edge refused a request, and says why.
 *
 * @example
 * try {
 *   await session.commit({ ops, expect: 7 })
 * } catch (error) {
 *   if (LaresError.is(error, 'version_mismatch')) retryFrom(error.head)
 *   else throw error
 * }
 */
export class LaresError extends Error {
  override readonly name = 'LaresError'
  /** HTTP status; of a refusal made by the SDK itself, the one the edge would have given. */
  readonly status: number
  readonly code: ErrorCode
  readonly detail: string
  /** JSON Pointer into the request body, or the name of a header or query parameter. */
  readonly pointer: string | undefined
  /** The session's head version, with `version_mismatch`. */
  readonly head: number | undefined
  /** The current lease epoch, with `fenced` and `leased`. */
  readonly epoch: number | undefined
  /** The limit that was passed, with `too_large`. */
  readonly limit: number | undefined
  /** The event that already has the correlation key, with `exists`. */
  readonly seq: number | undefined
  /** The current value, where the edge sends it. */
  readonly current: unknown
  /** Seconds to wait before trying again, with `rate_limited`, `quota_exceeded` and `unavailable`. */
  readonly retry_after: number | undefined
  /** `Lares-Request-Id` of the answer: what to quote when asking for help. */
  readonly request_id: string | undefined
  /** `Lares-Version` of the answer: the session is there, and this is its version. */
  readonly version: number | undefined
  /** The whole problem as it came. */
  readonly problem: Readonly<Record<string, unknown>>

  constructor(init: LaresErrorInit) {
    const detail = init.detail ?? `HTTP ${init.status}`
    super(
      `${init.code}: ${detail}${init.pointer === undefined ? '' : ` (at ${JSON.stringify(init.pointer)})`}`,
    )
    this.status = init.status
    // The cast lets an older SDK carry a newer edge's code; no comparison with a known code can go wrong by it.
    this.code = init.code as ErrorCode
    this.detail = detail
    this.pointer = init.pointer
    this.head = init.head
    this.epoch = init.epoch
    this.limit = init.limit
    this.seq = init.seq
    this.current = init.current
    this.retry_after = init.retry_after
    this.request_id = init.request_id
    this.version = init.version
    this.problem = init.problem ?? {}
  }

  /**
   * `access`: another credential (401, 403). `missing`: not there, or no more (404, 410). `conflict`: someone else was
   * first (409). `condition`: what you required does not hold (412). `request`: change the request (other 4xx).
   * `busy`: the same again, later (429, 503). `server`: a fault of the edge.
   */
  get family(): ErrorFamily {
    return familyOf(this.status)
  }

  /**
   * Is it a LaresError, and if codes are given, one of these?
   *
   * @example if (LaresError.is(error, 'fenced', 'leased')) stop(error.epoch)
   */
  static is<C extends ErrorCode = ErrorCode>(
    error: unknown,
    ...codes: readonly C[]
  ): error is LaresError & { readonly code: C } {
    if (!(error instanceof LaresError)) return false
    // Widened to be searched: `includes` only takes what it is sure to hold.
    return codes.length === 0 || (codes as readonly string[]).includes(error.code)
  }
}

/** No answer came: refused, unreachable, cut off or too slow, after all tries. A write may have happened or not. */
export class NetworkError extends Error {
  override readonly name = 'NetworkError'
  /** How often it was tried. */
  readonly tries: number

  constructor(message: string, options: { cause?: unknown; tries?: number } = {}) {
    super(message, { cause: options.cause })
    this.tries = options.tries ?? 1
  }
}

/** A refusal that needs no round trip: the edge would say the same. */
export function invalid(detail: string, pointer?: string): LaresError {
  return new LaresError({ status: errors.invalid.status, code: 'invalid', detail, pointer })
}

/** Reads the problem out of an answer that is not a success; something else than a problem is named by its status. */
export async function errorFrom(response: Response): Promise<LaresError> {
  const problem = parseProblem(await response.text())
  return new LaresError({
    status: response.status,
    code: text(problem.code) ?? codeOf(response.status),
    detail: text(problem.detail) ?? text(problem.title),
    pointer: text(problem.pointer),
    head: number(problem.head),
    epoch: number(problem.epoch),
    limit: number(problem.limit),
    seq: number(problem.seq),
    current: problem.current,
    retry_after: retryAfter(response.headers) ?? number(problem.retry_after),
    request_id: response.headers.get('lares-request-id') ?? undefined,
    version: numberIn(response.headers, 'lares-version'),
    problem,
  })
}

function parseProblem(body: string): Record<string, unknown> {
  try {
    const problem: unknown = JSON.parse(body)
    // An object parsed from JSON has string keys and no others.
    return typeof problem === 'object' && problem !== null ? (problem as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function familyOf(status: number): ErrorFamily {
  if (status === 401 || status === 403) return 'access'
  if (status === 404 || status === 410) return 'missing'
  if (status === 409) return 'conflict'
  if (status === 412) return 'condition'
  if (status === 429 || status === 503) return 'busy'
  return status >= 500 ? 'server' : 'request'
}

/** The code of an answer without a problem: a HEAD, or a proxy in between. */
function codeOf(status: number): ErrorCode {
  switch (status) {
    case 401:
      return 'unauthenticated'
    case 403:
      return 'forbidden'
    case 404:
      return 'not_found'
    case 410:
      return 'gone'
    case 412:
      return 'condition_failed'
    case 413:
      return 'too_large'
    case 415:
      return 'unsupported_media_type'
    case 416:
      return 'range_not_satisfiable'
    case 429:
      return 'rate_limited'
    case 500:
      return 'internal'
    default:
      return status > 500 ? 'unavailable' : 'invalid'
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}
