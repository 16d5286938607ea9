// One described route as an OpenAPI operation, with all that routes of its sort have in common.

import { type ErrorCode, errors } from '../../protocol/errors.ts'
import type { Answer, Body, Content, Parameter, Route } from './route.ts'
import type { JsonSchema, Schemas } from './schemas.ts'
import { fleetHeader, pathParameters, sharedParameters } from './shared.ts'

/** What operations refer to by name, collected while they are described. */
export interface Components {
  schemas: Schemas
  responses: Record<string, object>
}

export function describe(route: Route, tag: string, { schemas, responses }: Components): object {
  const { summary, text, needs, body } = route
  return {
    operationId: operationId(route),
    tags: [tag],
    summary,
    ...(text === undefined ? {} : { description: text }),
    'x-lares-scope': needs,
    ...(needs === 'public' ? { security: [] } : {}),
    parameters: parametersOf(route),
    ...(body === undefined ? {} : { requestBody: bodyOf(body, schemas) }),
    responses: { ...answersOf(route, schemas), ...problemsOf(route, responses) },
  }
}

/** The codes a route may answer with: its own, and those of every route of its sort. */
export function codesOf(route: Route): ErrorCode[] {
  if (route.needs === 'public') return []
  const codes = new Set<ErrorCode>(route.errors)
  const add = (...more: ErrorCode[]) => {
    for (const code of more) codes.add(code)
  }
  add('unauthenticated', 'forbidden', 'invalid', 'internal', 'unavailable')
  if (route.path.includes('{session}')) add('not_found', 'gone')
  if (has(route, 'at')) add('no_such_version')
  if (has(route, 'lease')) add('fenced')
  if (has(route, 'idempotency')) add('idempotency_mismatch')
  if (has(route, 'ifMatch') || has(route, 'ifAbsent')) add('condition_failed')
  if (route.body !== undefined) add('too_large')
  if (route.body !== undefined && 'json' in route.body.content) add('unsupported_media_type')
  return [...codes]
}

function has({ parameters = [] }: Route, name: keyof typeof sharedParameters): boolean {
  return parameters.includes(name)
}

/** Stable and readable: `GET /v1/sessions/{session}/log` is `get_session_log`. */
function operationId({ method, path }: Route): string {
  const words = path
    .replace(/^\/(v1\/)?/, '')
    .replace(/sessions\/\{session\}/, 'session')
    .replace(/\/\{\w+\}/g, '/one')
    .split(/[^A-Za-z0-9]+/)
  return [method, ...words].filter((word) => word !== '').join('_')
}

function parametersOf(route: Route): object[] {
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const known = pathParameters[name]
    if (known === undefined) throw new Error(`the path parameter ${name} is not described`)
    return { name, in: 'path', required: true, description: known.text, schema: known.schema }
  })
  const others = (route.parameters ?? []).map((one) =>
    typeof one === 'string' ? { $ref: `#/components/parameters/${one}` } : parameter(one),
  )
  const fleet = route.needs === 'public' ? [] : [{ $ref: '#/components/parameters/fleet' }]
  return [...inPath, ...others, ...fleet]
}

/** What `$ref: '#/components/parameters/…'` leads to. */
export function parameterComponents(): Record<string, object> {
  const all = { ...sharedParameters, fleet: fleetHeader }
  return Object.fromEntries(Object.entries(all).map(([name, one]) => [name, parameter(one)]))
}

function parameter({ in: place, name, text, schema }: Parameter): object {
  return { name, in: place, required: false, description: text, schema }
}

function bodyOf({ content, optional = false }: Body, schemas: Schemas): object {
  return { required: !optional, content: contentOf(content, schemas, 'request') }
}

function answersOf(route: Route, schemas: Schemas): Record<string, object> {
  const isPublic = route.needs === 'public'
  return Object.fromEntries(
    Object.entries(route.answers).map(([status, answer]) => [status, answerOf(answer, schemas, isPublic)]),
  )
}

function answerOf({ text, content, headers = [] }: Answer, schemas: Schemas, isPublic: boolean): object {
  const all = isPublic ? headers : ['Lares-Request-Id', ...headers]
  return {
    description: text,
    ...(all.length === 0 ? {} : { headers: headerRefs(all) }),
    ...(content === undefined ? {} : { content: contentOf(content, schemas, 'answer') }),
  }
}

function headerRefs(names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function contentOf(content: Content, schemas: Schemas, direction: 'request' | 'answer'): object {
  if ('bytes' in content) return { [content.bytes]: { schema: {} } }
  return { 'application/json': { schema: schemas.of(content.json, direction) } }
}

/** One answer a status, saying which codes it may have. Most routes have the same ones, so each set is written out once. */
function problemsOf(route: Route, responses: Record<string, object>): Record<string, object> {
  const byStatus = Map.groupBy(codesOf(route), (code) => errors[code].status)
  return Object.fromEntries(
    Array.from(byStatus, ([status, codes]) => {
      const name = codes.sort().join('.')
      responses[name] ??= problemAnswer(status, codes)
      return [status, { $ref: `#/components/responses/${name}` }]
    }),
  )
}

function problemAnswer(status: number, codes: readonly ErrorCode[]): object {
  const headers = ['Lares-Request-Id', ...(status === 429 || status === 503 ? ['Retry-After'] : [])]
  return {
    description: codes.map((code) => `\`${code}\`: ${errors[code].title}.`).join(' '),
    headers: headerRefs(headers),
    content: { 'application/problem+json': { schema: problemOf(codes) } },
  }
}

function problemOf(codes: readonly ErrorCode[]): JsonSchema {
  return {
    allOf: [{ $ref: '#/components/schemas/Problem' }],
    properties: { code: { enum: codes } },
  }
}
