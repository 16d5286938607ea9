// `startLocal`, as programs use it that bring their own edge along.

import { existsSync, rmSync } from 'node:fs'
import { expect, it } from 'vitest'
import { startLocal } from '../../src/local/index.ts'
import { call, logTexts } from '../support/http.ts'

it('two edges serve side by side, each with its own temporary folder, which goes with it', async () => {
  const [a, b] = await Promise.all([startLocal({ quiet: true }), startLocal({ quiet: true })])
  for (const edge of [a, b]) {
    await call(edge, 'PUT', '/v1/sessions/demo', {})
    await call(edge, 'POST', '/v1/sessions/demo/log', { payload: { text: edge.url } })
    expect(await logTexts(edge, 'demo')).toEqual([edge.url])
  }
  await Promise.all([a.close(), b.close(), b.close()])
  for (const edge of [a, b]) {
    expect(existsSync(edge.data)).toBe(false)
    await expect(fetch(edge.url)).rejects.toThrow()
  }
})

it('a folder is refused while it is served, and free afterwards', async () => {
  const first = await startLocal({ quiet: true })
  await expect(startLocal({ data: first.data })).rejects.toThrow(/Another edge/)
  await first.close()
  await (await startLocal({ data: first.data, quiet: true })).close()
  rmSync(first.data, { recursive: true })
})
