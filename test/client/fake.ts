// An edge that says what a test tells it to, and remembers what it was asked.

import { Lares, type RetryOptions } from '../../src/client/index.ts'

export interface Asked {
  method: string
  path: string
  query: Record<string, string>
  headers: Headers
  body: Uint8Array
  text: string
  json: unknown
}

/** An answer, or an error to throw instead (a network that fails), or what makes one of the request. */
export type Answer =
  | Response
  | Error
  | ((asked: Asked, signal: AbortSignal | undefined) => Response | Promise<Response>)

/** Pauses of no length, so that a test of ten tries takes no time. */
export const hurried: RetryOptions = { first_ms: 0.1, pause_ms: 1 }

/** A client whose requests get these answers in turn; one request too many is an error. */
export function fake(answers: Answer[], retry: RetryOptions = hurried): { lares: Lares; asked: Asked[] } {
  const asked: Asked[] = []
  const left = [...answers]
  const lares = new Lares({
    url: 'https://edge.test/',
    token: 'secret',
    retry,
    fetch: async (input, init) => {
      const request = new Request(input, init)
      const seen = await understand(request)
      asked.push(seen)
      const answer = left.shift()
      if (answer === undefined) throw new Error(`nobody expected ${seen.method} ${seen.path}`)
      if (answer instanceof Error) throw answer
      return typeof answer === 'function' ? answer(seen, init?.signal ?? undefined) : answer
    },
  })
  return { lares, asked }
}

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  })
}

export function problem(
  status: number,
  code: string,
  more: object = {},
  headers: Record<string, string> = {},
): Response {
  return new Response(JSON.stringify({ status, code, title: code, detail: `it is ${code}`, ...more }), {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
  })
}

export function refused(): Error {
  return new TypeError('fetch failed')
}

/** A body that comes in these chunks; then it ends, fails, or stays open. */
export function chunks(
  texts: (string | Uint8Array)[],
  then: 'end' | 'fail' | 'hang' = 'end',
): ReadableStream<Uint8Array> {
  const left = texts.map((one) => (typeof one === 'string' ? new TextEncoder().encode(one) : one))
  return new ReadableStream({
    pull(controller) {
      const next = left.shift()
      if (next !== undefined) controller.enqueue(next)
      else if (then === 'end') controller.close()
      else if (then === 'fail') controller.error(new TypeError('terminated'))
      else return new Promise(() => undefined)
    },
  })
}

async function understand(request: Request): Promise<Asked> {
  const url = new URL(request.url)
  const body = new Uint8Array(await request.arrayBuffer())
  const text = new TextDecoder().decode(body)
  return {
    method: request.method,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: request.headers,
    body,
    text,
    json: request.headers.get('content-type') === 'application/json' ? JSON.parse(text) : undefined,
  }
}
