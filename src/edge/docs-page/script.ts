// What `/docs` does in the browser: reads /openapi.json and shows it, and sends a request where one is tried. Everything it
// shows is made as text nodes, so that nothing in a document or an answer can become markup.

export const script = String.raw`
'use strict'
const $ = (id) => document.getElementById(id)

/** h('a', { href: '#x' }, 'text', node …) */
function h(name, attributes, ...children) {
  const node = document.createElement(name)
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === true) node.setAttribute(key, '')
    else if (value !== false && value != null) node.setAttribute(key, value)
  }
  node.append(...children.flat().filter((child) => child != null))
  return node
}

/** Text in which backticks mark code. */
function prose(text) {
  return (text || '').split('\u0060').map((part, i) => (i % 2 ? h('code', null, part) : part))
}

let api

function resolve(one) {
  if (!one || !one.$ref) return one
  return one.$ref.slice(2).split('/').reduce((at, step) => at[step], api)
}

// Schemas

function nameOf(schema) {
  return schema && schema.$ref ? schema.$ref.split('/').pop() : null
}

function typeOf(schema) {
  const name = nameOf(schema)
  if (name) return h('a', { href: '#schema-' + name }, name)
  const s = schema || {}
  if ('const' in s) return JSON.stringify(s.const)
  if (s.enum) return s.enum.map((one) => JSON.stringify(one)).join(' | ')
  const many = s.oneOf || s.anyOf
  if (many) return h('span', null, many.flatMap((one, i) => [i ? ' | ' : '', typeOf(one)]))
  if (s.type === 'array') return h('span', null, 'array of ', typeOf(s.items))
  return [].concat(s.type || 'any JSON').join(' | ')
}

const bounds = { minimum: '≥ ', maximum: '≤ ', minLength: 'length ≥ ', maxLength: 'length ≤ ', minItems: 'items ≥ ', maxItems: 'items ≤ ', default: 'default ', format: '' }

function limitsOf(schema) {
  const said = Object.keys(bounds).filter((key) => schema && key in schema)
  return said.map((key) => ' · ' + bounds[key] + (key === 'default' ? JSON.stringify(schema[key]) : schema[key])).join('')
}

function line(name, schema, required, text) {
  return [
    h('dt', null, h('code', null, name), ' ', h('span', { class: 'type' }, typeOf(schema), limitsOf(schema)), required ? h('span', { class: 'needed' }, ' required') : null),
    h('dd', null, prose(text || (schema && schema.description))),
  ]
}

/** A schema's members, nested ones below theirs; what has a name of its own is linked and not repeated. */
function members(schema) {
  if (!schema || schema.$ref) return []
  const many = schema.oneOf || schema.anyOf || schema.allOf
  if (many) return many.flatMap(members)
  if (schema.items) return members(schema.items)
  const rows = Object.entries(schema.properties || {}).flatMap(([name, one]) => {
    const inner = members(one)
    const row = line(name, one, (schema.required || []).includes(name))
    if (inner.length) row[1].append(...inner)
    return row
  })
  return rows.length ? [h('dl', null, rows)] : []
}

function shown(schema) {
  return [h('p', { class: 'type' }, typeOf(schema)), ...members(schema)]
}

/** A value to begin with. */
function sample(schema, depth = 0) {
  const s = resolve(schema) || {}
  if ('default' in s) return s.default
  if ('const' in s) return s.const
  if (s.example !== undefined) return s.example
  if (s.enum) return s.enum[0]
  if (s.oneOf || s.anyOf) return sample((s.oneOf || s.anyOf).at(-1), depth)
  if (s.type === 'array') return depth > 4 ? [] : [sample(s.oneOf ? s.oneOf[0] : s.items, depth + 1)]
  if (s.type === 'object') {
    const names = (s.required || []).filter((name) => s.properties && name in s.properties)
    return Object.fromEntries(names.map((name) => [name, sample(s.properties[name], depth + 1)]))
  }
  if (s.type === 'integer' || s.type === 'number') return s.minimum || 0
  if (s.type === 'boolean') return false
  return s.type === 'string' ? 'text' : { any: 'JSON' }
}

function firstOf(schema) {
  const s = structuredClone(schema)
  const items = s.properties && s.properties.ops && s.properties.ops.items
  if (items && items.oneOf) s.properties.ops.items = items.oneOf.find((one) => nameOf(one) === 'state.set') || items.oneOf[0]
  return JSON.stringify(sample(s), null, 2)
}

// Operations

function operation(path, method, op) {
  const box = h('details', { id: op.operationId }, h('summary', null, h('span', { class: 'method ' + method }, method), h('span', { class: 'path' }, path), h('span', { class: 'says' }, prose(op.summary))))
  box.addEventListener('toggle', () => {
    if (!box.open || box.children.length > 1) return
    box.append(h('div', { class: 'body' }, about(op), tryIt(path, method, op)))
  })
  return box
}

function about(op) {
  const parts = [h('p', null, prose(op.description))]
  const scope = op['x-lares-scope']
  const scopes = { public: 'Takes no key.', any: 'Takes a key or token; what is asked decides which scope.', root: 'Takes the root key.' }
  parts.push(h('p', null, scopes[scope] || prose('Takes the scope \u0060' + scope + '\u0060.')))
  const params = op.parameters.map(resolve)
  for (const [where, title] of [['path', 'In the path'], ['query', 'Query'], ['header', 'Headers']]) {
    const some = params.filter((one) => one.in === where)
    if (some.length) parts.push(h('h3', null, title), h('dl', null, some.flatMap((one) => line(one.name, one.schema, one.required, one.description))))
  }
  if (op.requestBody) {
    const [[type, media]] = Object.entries(op.requestBody.content)
    parts.push(h('h3', null, 'Body'), h('p', { class: 'type' }, type, op.requestBody.required ? '' : ', may be left out'), ...(media.schema && Object.keys(media.schema).length ? shown(media.schema) : []))
  }
  parts.push(h('h3', null, 'Answers'))
  parts.push(h('dl', null, Object.entries(op.responses).flatMap(([status, ref]) => {
    const answer = resolve(ref)
    const [entry] = Object.entries(answer.content || {})
    const told = Number(status) < 400 && entry ? [' ', h('span', { class: 'type' }, entry[0], ' ', entry[0].endsWith('json') ? typeOf(entry[1].schema) : '')] : []
    return [h('dt', null, h('code', null, status), ...told), h('dd', null, prose(answer.description), ...(Number(status) < 400 && entry ? members(entry[1].schema) : []))]
  })))
  return parts
}

function tryIt(path, method, op) {
  const params = op.parameters.map(resolve).filter((one) => one.name !== 'access_token')
  const inputs = params.map((one) => [one, h('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', required: one.required })])
  const content = op.requestBody && Object.entries(op.requestBody.content)[0]
  const body = content && h('textarea', { spellcheck: 'false' })
  if (content && content[0].endsWith('json')) body.value = firstOf(content[1].schema)
  const out = h('pre', { hidden: true, tabindex: '0', 'aria-live': 'polite' })
  const form = h('form', null, h('h3', null, 'Try it'),
    h('div', { class: 'fields' }, inputs.map(([one, input]) => h('label', null, one.name, input))),
    body ? h('label', null, 'Body', body) : null,
    h('button', null, 'Send'), out)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    out.hidden = false
    out.textContent = '…'
    send(path, method, inputs, content && content[0], body && body.value).then((text) => { out.textContent = text }, (error) => { out.textContent = String(error) })
  })
  return form
}

async function send(path, method, inputs, type, body) {
  const headers = {}
  if ($('key').value) headers.authorization = 'Bearer ' + $('key').value
  const query = new URLSearchParams()
  let url = path
  for (const [{ name, in: where }, { value }] of inputs) {
    if (where === 'path') url = url.replace('{' + name + '}', encodeURIComponent(value).replaceAll('%2F', '/'))
    else if (value === '') continue
    else if (where === 'header') headers[name] = value
    else query.append(name, value)
  }
  if (body) headers['content-type'] = type === '*/*' ? 'text/plain' : type
  const search = String(query)
  const stop = new AbortController()
  const response = await fetch(url + (search && '?' + search), { method: method.toUpperCase(), headers, body: body || undefined, signal: stop.signal })
  const told = ['content-type', 'lares-version', 'lares-since', 'etag', 'retry-after', 'location', 'lares-request-id']
  const head = [response.status + ' ' + response.statusText, ...told.filter((name) => response.headers.has(name)).map((name) => name + ': ' + response.headers.get(name))].join('\n')
  if ((response.headers.get('content-type') || '').startsWith('text/event-stream')) {
    stop.abort()
    return head + '\n\n(a stream; follow it with curl -N)'
  }
  const text = await response.text()
  return head + '\n\n' + (text.length > 200000 ? text.slice(0, 200000) + ' …' : pretty(text))
}

/** Indented without being parsed, so that no number changes on its way to the eye. */
function pretty(text) {
  if (!/^\s*[[{]/.test(text)) return text
  let depth = 0
  return text.replace(/"(?:[^"\\]|\\.)*"|[{}[\],:]|\s+/g, (token, at) => {
    if (token[0] === '"') return token
    if (/\s/.test(token)) return ''
    if (token === ':') return ': '
    if (token === ',') return ',\n' + '  '.repeat(depth)
    if (token === '{' || token === '[') return /^\s*[}\]]/.test(text.slice(at + 1, at + 20)) ? (depth++, token) : token + '\n' + '  '.repeat(++depth)
    depth--
    return /[{[]\s*$/.test(text.slice(Math.max(0, at - 20), at)) ? token : '\n' + '  '.repeat(depth) + token
  })
}

// The page

function show() {
  const main = $('main')
  main.replaceChildren(h('p', null, prose(api.info.description)))
  const list = []
  for (const tag of api.tags) {
    const id = 'tag-' + tag.name
    list.push(h('li', null, h('a', { href: '#' + id }, tag.name)))
    main.append(h('h2', { id }, tag.name), h('p', null, prose(tag.description)))
    for (const [path, methods] of Object.entries(api.paths)) {
      for (const [method, op] of Object.entries(methods)) if (op.tags.includes(tag.name)) main.append(operation(path, method, op))
    }
  }
  main.append(h('h2', { id: 'schemas' }, 'Schemas'))
  list.push(h('li', null, h('a', { href: '#schemas' }, 'Schemas')))
  for (const [name, schema] of Object.entries(api.components.schemas)) {
    main.append(h('details', { id: 'schema-' + name }, h('summary', null, h('span', { class: 'path' }, name), h('span', { class: 'says' }, prose(schema.description))), h('div', { class: 'body' }, ...members(schema))))
  }
  $('nav').replaceChildren(...list)
  go()
}

/** Opens what the address points at. */
function go() {
  const target = location.hash && $(decodeURIComponent(location.hash.slice(1)))
  if (!target) return
  if (target.tagName === 'DETAILS') target.open = true
  target.scrollIntoView()
}

$('find').addEventListener('input', ({ target }) => {
  const words = target.value.toLowerCase().split(/\s+/)
  for (const box of document.querySelectorAll('main details')) {
    const text = box.firstElementChild.textContent.toLowerCase()
    box.hidden = !words.every((word) => text.includes(word))
  }
})
addEventListener('hashchange', go)
fetch('/openapi.json').then((answer) => answer.json()).then((document) => { api = document; show() }).catch((error) => {
  $('main').replaceChildren(h('p', { role: 'alert' }, 'The description of the API could not be read: ' + error))
})
`
