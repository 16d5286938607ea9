// What every handler at the edge can reach: bindings, the request, and who is asking.

import type { Context } from 'hono'
import type { Principal } from '../auth/principal.ts'
import type { Env } from '../env.ts'

export interface EdgeEnv {
  Bindings: Env
  Variables: {
    /** Set by the door, before any handler runs. */
    who: Principal
    requestId: string
  }
}

export type EdgeContext = Context<EdgeEnv>
