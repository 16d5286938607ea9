// The few requests that black-box tests of the local edge make, without our own client in between.

interface Target {
  url: string
  key: string
}

/** One request with the edge's key; the answer's status and JSON body. */
export async function call(edge: Target, method: string, path: string, body?: unknown) {
  const response = await fetch(`${edge.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${edge.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? null : JSON.parse(text) }
}

/** The texts in a session's log, in order. */
export async function logTexts(edge: Target, session: string): Promise<unknown[]> {
  const { body } = await call(edge, 'GET', `/v1/sessions/${session}/log`)
  return body.items.map((event: { payload: { text: string } }) => event.payload.text)
}
