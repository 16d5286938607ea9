import { describe, expect, it } from 'vitest'
import { createApp } from '../../src/edge/app.ts'
import { codesOf } from '../../src/edge/openapi/operation.ts'
import { openApiDocument, sections } from '../../src/edge/openapi.ts'
import { errors } from '../../src/protocol/errors.ts'
import { operation } from '../../src/protocol/ops.ts'

const described = sections.flatMap(({ routes }) => routes)

/** A path without its parameters' names, in which the app and the document differ. */
function shape(path: string): string {
  return path.replace(/\{\w+\}|:\w+|\*/g, '{}')
}

function routesOfApp(): string[] {
  const served = createApp().routes.filter(({ method }) => method !== 'ALL')
  return served.map(({ method, path }) => `${method} ${shape(path)}`)
}

describe('the document and the app', () => {
  it('every route of the app is described', () => {
    const known = new Set(described.map(({ method, path }) => `${method.toUpperCase()} ${shape(path)}`))
    expect(routesOfApp().filter((route) => !known.has(route))).toEqual([])
  })

  it('every described route is one the app has', () => {
    const served = new Set(routesOfApp())
    // A GET answers HEAD by itself.
    const asServed = described.map(
      ({ method, path }) => `${method === 'head' ? 'GET' : method.toUpperCase()} ${shape(path)}`,
    )
    expect(asServed.filter((route) => !served.has(route))).toEqual([])
  })

  it('no route is described twice', () => {
    const names = described.map(({ method, path }) => `${method} ${shape(path)}`)
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('what the document says', () => {
  // The document's shape is checked against OpenAPI's own schema in openapi.node.test.ts.
  const document = openApiDocument() as {
    paths: Record<string, Record<string, { operationId: string }>>
    components: { schemas: Record<string, { properties?: Record<string, unknown> }> }
  }

  it('every operation of a commit has a schema of its own name', () => {
    const names = operation.options.map((one) => ('in' in one ? one.in : one).shape.op.value)
    expect(names.length).toBeGreaterThan(8)
    expect(Object.keys(document.components.schemas)).toEqual(expect.arrayContaining(names))
  })

  it('a JSON value is described as any JSON', () => {
    const { value } = document.components.schemas['state.set']?.properties ?? {}
    expect(value).toEqual({ description: 'Any JSON value' })
  })

  it('operation ids are unique', () => {
    const ids = Object.values(document.paths).flatMap((path) =>
      Object.values(path).map((one) => one.operationId),
    )
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('each route that takes a credential tells what a missing one gives', () => {
    for (const route of described) {
      if (route.needs !== 'public') expect(codesOf(route)).toContain('unauthenticated')
    }
  })

  it('each code named is in the table of errors', () => {
    const named = new Set(described.flatMap(codesOf))
    expect(Object.keys(errors)).toEqual(expect.arrayContaining([...named]))
  })
})
