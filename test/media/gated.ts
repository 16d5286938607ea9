// The real bindings, each call of which waits until a scheduler lets it go on: so the scheduler decides the order.

import type fc from 'fast-check'
import type { Env } from '../../src/env.ts'

export function gated(env: Env, scheduler: fc.Scheduler): Env {
  const wrap = <T extends object>(target: T, name: string): T =>
    new Proxy(target, {
      get(_, property) {
        const value: unknown = Reflect.get(target, property)
        if (typeof value !== 'function' || typeof property === 'symbol') return value
        return (...args: unknown[]) => {
          const call = () => Reflect.apply(value, target, args)
          if (property === 'idFromName' || property === 'then' || property === 'fetch') return call()
          if (property === 'get' && name !== 'BLOBS') return wrap(call(), name)
          if (property === 'resumeMultipartUpload') return call()
          return scheduler.schedule(Promise.resolve(), `${name}.${property}`).then(call)
        }
      },
    })
  return {
    ...env,
    BLOBS: wrap(env.BLOBS, 'BLOBS'),
    LEDGER: wrap(env.LEDGER, 'LEDGER'),
    SESSION: wrap(env.SESSION, 'SESSION'),
  }
}
