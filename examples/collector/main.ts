// The command line of the collector: one day in a new session, and what it answers in the evening.

import { parseArgs } from 'node:util'
import { Lares } from '../../src/client/index.ts'
import { live } from './day.ts'
import { afternoon, morning } from './finds.ts'

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: process.env.LARES_URL ?? 'http://127.0.0.1:8787' },
    key: { type: 'string', default: process.env.LARES_KEY ?? '' },
  },
})

const session = await new Lares({ url: values.url, token: values.key }).sessions.create(
  `collector-${Date.now()}`,
)
const { noon, byNoon, byEvening, cameOfFirst } = await live(session, morning, afternoon)
console.log(`At noon (version ${noon}):`)
console.table(byNoon)
console.log(`By evening there were ${byEvening} finds. Of the first picture came: ${cameOfFirst.join(', ')}.`)
