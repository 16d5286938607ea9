// The real bindings with a fault in them: the n-th call of R2, of a ledger or of the session fails, before or after it had its
// effect. The storage behind is the real one.

import { env } from 'cloudflare:workers'
import type { Env } from '../../src/env.ts'

export class Crash extends Error {
  constructor(step: string) {
    super(`crashed at ${step}`)
  }
}

export interface Fault {
  /** Counts from 1; 0 never fails. */
  at: number
  when: 'before' | 'after'
}

export interface Watched {
  env: Env
  /** What was called, in order: `BLOBS.put`, `LEDGER.hold`, `SESSION.commit`. */
  calls: string[]
}

export function watched(fault: Fault = { at: 0, when: 'before' }): Watched {
  const calls: string[] = []
  const step = async (name: string, act: () => unknown): Promise<unknown> => {
    calls.push(name)
    // Everything after a crash fails too: the process is dead.
    const dead = fault.at > 0 && calls.length > fault.at
    const hit = calls.length === fault.at
    if (dead || (hit && fault.when === 'before')) throw new Crash(name)
    const result = await act()
    if (hit) throw new Crash(name)
    return result
  }
  const wrap = <T extends object>(target: T, name: string): T =>
    new Proxy(target, {
      get(_, property) {
        const value: unknown = Reflect.get(target, property)
        if (typeof value !== 'function' || typeof property === 'symbol') return value
        return (...args: unknown[]) => {
          const call = () => Reflect.apply(value, target, args)
          if (property === 'idFromName') return call()
          // What these give is not an effect but a handle on one.
          if (property === 'get' && (name === 'LEDGER' || name === 'SESSION')) return wrap(call(), name)
          if (property === 'resumeMultipartUpload') return wrap(call(), `${name}.multipart`)
          if (property === 'createMultipartUpload')
            return step(`${name}.${property}`, call).then((made) => wrap(made as object, `${name}.multipart`))
          if (property === 'then' || property === 'fetch') return call()
          return step(`${name}.${property}`, call)
        }
      },
    })
  return {
    calls,
    env: {
      ...env,
      BLOBS: wrap(env.BLOBS, 'BLOBS'),
      LEDGER: wrap(env.LEDGER, 'LEDGER'),
      SESSION: wrap(env.SESSION, 'SESSION'),
    },
  }
}

/** How often R2 was written. */
export function writes(calls: readonly string[]): number {
  return calls.filter((call) => /^BLOBS\.(put|createMultipartUpload|multipart\.)/.test(call)).length
}
