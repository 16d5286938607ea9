// The Worker's entry: HTTP in, objects behind.

import { createApp } from './edge/app.ts'
import { sweepOnSchedule } from './edge/sweep.ts'
import type { Env } from './env.ts'

export { Fleet } from './auth/fleet.ts'
export { Ledger } from './media/ledger.ts'
export { Session } from './session/session.ts'

const app = createApp()

export default {
  fetch: app.fetch,
  async scheduled(_event, env) {
    await sweepOnSchedule(env)
  },
} satisfies ExportedHandler<Env>
