// The SDK inside a Worker, speaking to the edge inside the same runtime.

import { env, exports } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { Lares } from '../../src/client/index.ts'

test('a Worker commits, reads and follows a world', async () => {
  expect(navigator.userAgent).toBe('Cloudflare-Workers')
  const lares = new Lares({
    url: 'https://lares.test',
    token: env.LARES_ROOT_KEY,
    fetch: (input, init) => exports.default.fetch(new Request(input, init)),
  })
  const session = await lares.sessions.create('in-a-worker')
  const tail = session.tail({ after: 0 })
  await session.commit((tx) => {
    tx.log.append({ payload: 'hello' })
    tx.state.set('k', null)
    tx.files.put('f', new Blob(['bytes']))
  })
  expect((await tail.next()).value).toMatchObject({ event: 'commit', version: 1 })
  await tail.return()
  expect(await session.state.getEntry('k')).toMatchObject({ value: null, since: 1 })
  expect(await (await session.at(1).files.get('f')).text()).toBe('bytes')
  await expect(session.log.get(2)).rejects.toMatchObject({ code: 'not_found' })
})
