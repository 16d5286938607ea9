// What a kind is: for each of its operations, what it does to the world. All else (versions, history, time travel, listing,
// projection) is written once, over events and entries.

import type { EntryKind } from '../../protocol/refs.ts'
import type { WireOperation } from '../rpc.ts'
import type { Transaction } from '../transaction.ts'
import type { World } from '../world.ts'

export type OperationOf<N extends WireOperation['op']> = Extract<WireOperation, { op: N }>

export interface Applied {
  /** What the answer says of this operation. */
  result: Record<string, unknown>
  /** True when it made an entry where none was. */
  created?: boolean
}

export interface Handler<O> {
  apply(tx: Transaction, op: O): Applied
  /** The entry of which `if` speaks; null for an operation that has none. */
  subject(op: O): { kind: EntryKind; key: string } | null
  /** Whether an entry that is stored counts as being there; it does unless this says otherwise. */
  isThere?(world: World, key: string): boolean
}

export type Handlers<N extends WireOperation['op']> = { readonly [K in N]: Handler<OperationOf<K>> }
