// What is kept beside entries and events only so that they are found faster, or so that work on them is not forgotten: all of
// it can be made again from them, and is, wherever they were changed other than by their operations.

import { rebuildLineage } from './lineage.ts'
import { markStale } from './recall/upkeep.ts'
import { rebuildIndexes } from './tables/indexes.ts'
import type { World } from './world.ts'

/** For a world that has just come from elsewhere: a fork that has all its rows, an import. */
export function rebuildDerived(world: World): void {
  world.storage.transactionSync(() => {
    rebuildIndexes(world)
    rebuildLineage(world.sql)
    // Too much for one step: recall makes it when it is first asked for, in slices.
    markStale(world)
  })
}
