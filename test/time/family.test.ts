// The pages of a family stay while a session of it is there, and go when none is.

import { runDurableObjectAlarm } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { Client, freshFleet, keysOf } from '../media/support.ts'
import { sweep } from '../media/sweep-support.ts'

async function until(done: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 200; i++) {
    if (await done()) return
    await scheduler.wait(25)
  }
  throw new Error('it did not come to pass')
}

const pages = async (client: Client) =>
  (await keysOf(client.fleet)).filter((key) => key.includes('/families/'))

/** Lets a deleted session finish what it does behind the answer. */
async function departed(client: Client): Promise<void> {
  const stub = env.SESSION.get(env.SESSION.idFromName(`${client.fleet}/${client.session}`))
  await until(async () => !(await runDurableObjectAlarm(stub)))
}

describe('a family\u2019s pages', () => {
  it('outlive its first session, and go with its last', async () => {
    const parent = await Client.make(await freshFleet())
    await parent.json('PUT', '/state/a', 1)
    await parent.json('POST', '/snapshots', { name: 's' })
    const forked = await parent.json('POST', '/forks', {})
    const child = new Client((await forked.json<{ session: string }>()).session, parent.fleet)
    await child.json('GET', '/state', undefined)
    await child.json('POST', '/snapshots', { name: 's' })
    const before = await pages(parent)
    expect(before).toHaveLength(2)

    await parent.ask('', { method: 'DELETE' })
    await departed(parent)
    await sweep(parent.fleet)
    expect(await pages(parent)).toEqual(before)
    expect((await child.ask('/snapshots/s/objects')).status).toBe(200)

    await child.ask('', { method: 'DELETE' })
    await departed(child)
    await sweep(parent.fleet)
    expect(await pages(parent)).toEqual([])
  })

  it('are no session\u2019s to lose while it is there', async () => {
    const client = await Client.make(await freshFleet())
    await client.json('PUT', '/state/a', 1)
    await client.json('POST', '/snapshots', { name: 's' })
    await client.ask('/snapshots/s', { method: 'DELETE' })
    await sweep(client.fleet)
    expect(await pages(client)).toHaveLength(2)
    // Dropped and taken again: the pages are those that are there.
    expect((await client.json('POST', '/snapshots', { name: 's' })).status).toBe(201)
    expect(await (await client.ask('/verify')).json()).toMatchObject({ ok: true })
  })
})
