// Walks the API with the document in hand: each answer must be one that the document has for that route and status, with a
// body that fits and no member that is not described.

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'vitest'

interface Said {
  content?: Record<string, { schema: object }>
  headers?: Record<string, unknown>
}

interface Described {
  responses: Record<string, Said | { $ref: string }>
}

export interface Document {
  paths: Record<string, Record<string, Described>>
  components: { schemas: Record<string, object>; responses: Record<string, Said> }
}

export interface Step {
  /** JSON, or text when a type is given. */
  body?: unknown
  type?: string
  headers?: Record<string, string>
  key?: string
}

export class Tour {
  readonly document: Document
  readonly #edge: { url: string; key: string }
  readonly #ajv: Ajv2020
  readonly #checks = new Map<string, ValidateFunction>()

  constructor(edge: { url: string; key: string }, document: Document) {
    this.#edge = edge
    this.document = document
    this.#ajv = new Ajv2020({ strict: false, allErrors: true })
    // The package's types do not say what its default export is to a module of ours.
    ;(addFormats as unknown as (ajv: Ajv2020) => void)(this.#ajv)
    this.#ajv.addSchema({ $id: 'doc:', components: closed(document.components) })
  }

  /** Makes one request, checks its answer against the document, and returns its JSON. */
  // What comes back is as different as the routes are; each test knows what it asked for.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  async go(method: string, path: string, step: Step, status: number): Promise<any> {
    const { body, type = 'application/json', headers = {}, key = this.#edge.key } = step
    const response = await fetch(this.#edge.url + path, {
      method: method.toUpperCase(),
      headers: { authorization: `Bearer ${key}`, 'content-type': type, ...headers },
      ...(body === undefined
        ? {}
        : { body: type === 'application/json' ? JSON.stringify(body) : String(body) }),
    })
    const text = await response.text()
    expect(response.status, `${method} ${path}: ${text}`).toBe(status)
    return this.#check(method, path, response, text)
  }

  #check(method: string, path: string, response: Response, text: string): unknown {
    const route = this.#routeOf(method, path.replace(/\?.*/, ''))
    const [, template = ''] = route.split(' ')
    const said = this.#resolve(this.document.paths[template]?.[method]?.responses[response.status])
    expect(said, `${route} says nothing of ${response.status}`).toBeDefined()
    for (const name of Object.keys(said?.headers ?? {})) {
      if (!optional.has(name))
        expect(response.headers.has(name), `${route} ${response.status}: ${name}`).toBe(true)
    }
    const type = response.headers.get('content-type')?.replace(/;.*/, '')
    if (text === '' || said?.content === undefined) {
      expect(method === 'head' || text === '', `${route} has a body that is not described`).toBe(true)
      return null
    }
    expect(Object.keys(said.content)).toContain('*/*' in said.content ? '*/*' : type)
    if (type === undefined || !/json$/.test(type) || '*/*' in said.content) return text
    const value: unknown = JSON.parse(text)
    const check = this.#checkOf(`${route} ${response.status}`, said.content[type]?.schema ?? {})
    check(value)
    expect(check.errors ?? [], `${route} ${response.status}: ${text}`).toEqual([])
    return value
  }

  #resolve(said: Said | { $ref: string } | undefined): Said | undefined {
    if (said === undefined || !('$ref' in said)) return said
    return this.document.components.responses[said.$ref.replace('#/components/responses/', '')]
  }

  #checkOf(name: string, schema: object): ValidateFunction {
    const known = this.#checks.get(name)
    if (known) return known
    const text = JSON.stringify(closed(schema)).replaceAll('"#/components/', '"doc:#/components/')
    const check = this.#ajv.compile(JSON.parse(text))
    this.#checks.set(name, check)
    return check
  }

  #routeOf(method: string, path: string): string {
    const fits = Object.keys(this.document.paths).filter((template) => {
      const pattern = template.replace(/\{(key|path)\}/g, '.+').replace(/\{\w+\}/g, '[^/]+')
      return new RegExp(`^${pattern}$`).test(path) && method in (this.document.paths[template] ?? {})
    })
    // The one that says most of the path in its own words, as the app's router finds it.
    const [best] = fits.sort((a, b) => a.split('{').length - b.split('{').length)
    if (best === undefined) throw new Error(`${method} ${path} is not described`)
    return `${method} ${best}`
  }
}

const optional = new Set(['Lares-Mtime', 'Cache-Control', 'Location'])

/** The schema with no room for members that it does not name. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]))
  const isObject = inner.type === 'object' && 'properties' in inner && !('additionalProperties' in inner)
  return isObject ? { ...inner, additionalProperties: false } : inner
}
