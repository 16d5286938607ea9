// Who is told of every commit, inside its transaction: indexes that must never say anything but what the entries say. They see
// what changed and not how, so that an operation, a revert and a merge are all the same to them.

import { watchMemory } from './recall/upkeep.ts'
import type { Transaction } from './transaction.ts'

/** Brings an index up to what a commit changed. What it throws undoes the commit. */
export type Watcher = (tx: Transaction) => void

export const watchers: readonly Watcher[] = [watchMemory]
