// Who is asking, as every door sees it once its credential has been checked.

/** What a token may do. `files:PREFIX` reads and writes files below a folder and nothing else. */
export type Scope = 'read' | 'append' | 'write' | 'snapshot' | 'fork' | 'lease' | 'admin' | `files:${string}`

export interface Principal {
  /** The fleet this principal lives in. */
  readonly fleet: string
  /** The id of the key or token; `root` for the root key. */
  readonly id: string
  /** How a commit records it: `root`, `key:ID`, `token:ID`. */
  readonly actor: string
  /** True for the root key alone: fleets, keys, metrics. */
  readonly root: boolean
  /** A session id, or a pattern with `*`; `*` for keys. */
  readonly sessions: string
  readonly scopes: readonly Scope[]
  /** Epoch milliseconds after which it is nobody; null for keys. */
  readonly expiresAt: number | null
  /** This id and every id above it: revoking any of them revokes this principal. */
  readonly chain: readonly string[]
}
