// The promise in one file: what was acknowledged is there, however the edge went down.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Edge, freePort, startEdge } from '../support/edge.ts'
import { call, logTexts } from '../support/http.ts'

describe('a restart', () => {
  let data: string
  let edge: Edge
  beforeEach(() => {
    data = mkdtempSync(join(tmpdir(), 'lares-test-'))
  })
  afterEach(async () => {
    await edge.stop()
    rmSync(data, { recursive: true, force: true })
  })

  it('keeps every acknowledged append after an orderly stop', async () => {
    edge = await startEdge({ data })
    await append(edge, ['one', 'two'])
    expect(await edge.stop()).toBe(0)
    edge = await startEdge({ data })
    expect(await logTexts(edge, 'demo')).toEqual(['one', 'two'])
  })

  it('keeps every acknowledged append after SIGKILL to the whole group, on the same port', async () => {
    const port = await freePort()
    edge = await startEdge({ data, port })
    for (const round of ['one', 'two', 'three']) {
      await append(edge, [round])
      await edge.kill9()
      edge = await startEdge({ data, port })
    }
    expect(await logTexts(edge, 'demo')).toEqual(['one', 'two', 'three'])
  })

  it('keeps files, blobs and the catalog', async () => {
    edge = await startEdge({ data })
    await call(edge, 'PUT', '/v1/sessions/demo', {})
    const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => i % 251)
    const headers = { authorization: `Bearer ${edge.key}`, 'content-type': 'application/octet-stream' }
    const put = await fetch(`${edge.url}/v1/sessions/demo/files/clip.bin`, {
      method: 'PUT',
      headers,
      body: bytes,
    })
    expect(put.status).toBe(201)
    await edge.kill9()
    edge = await startEdge({ data })
    const got = await fetch(`${edge.url}/v1/sessions/demo/files/clip.bin`, { headers })
    expect(new Uint8Array(await got.arrayBuffer())).toEqual(bytes)
    await expect
      .poll(
        async () =>
          (await call(edge, 'GET', '/v1/sessions')).body.items.map(
            (item: { session: string }) => item.session,
          ),
        { timeout: 20_000 },
      )
      .toEqual(['demo'])
  })

  it('keeps API keys and their tokens valid, also with another root key', async () => {
    edge = await startEdge({ data, key: 'first-key' })
    await append(edge, ['one'])
    const api = (await call(edge, 'POST', '/v1/fleets/default/keys', {})).body
    const request = { session: 'demo', scopes: ['read'], expires_in: 3600 }
    const minted = (await call({ url: edge.url, key: api.key }, 'POST', '/v1/tokens', request)).body
    await edge.stop()
    edge = await startEdge({ data, key: 'second-key' })
    for (const key of [api.key, minted.token, 'second-key']) {
      expect(await logTexts({ url: edge.url, key }, 'demo')).toEqual(['one'])
    }
    expect((await call({ url: edge.url, key: 'first-key' }, 'GET', '/v1/sessions/demo')).status).toBe(401)
  })

  it('remembers the key it made, also past a start with another', async () => {
    edge = await startEdge({ data, key: null })
    const { key } = edge
    await append(edge, ['one'])
    await edge.stop()
    await (await startEdge({ data, key: 'another' })).stop()
    edge = await startEdge({ data, key: null })
    expect(await logTexts({ url: edge.url, key }, 'demo')).toEqual(['one'])
  })
})

async function append(edge: Edge, texts: string[]): Promise<void> {
  const made = await call(edge, 'PUT', '/v1/sessions/demo', {})
  expect([200, 201]).toContain(made.status)
  for (const text of texts) {
    const { status } = await call(edge, 'POST', '/v1/sessions/demo/log', { payload: { text } })
    expect(status).toBe(201)
  }
}
