// How many memories there are for those who ask: one that has expired is gone, swept or not.

import type { World } from '../world.ts'

export function liveMemories({ sql, head }: World): number {
  if (head.counts.memories === 0) return 0
  const { n } = sql
    .exec<{ n: number }>(
      'SELECT count(*) AS n FROM memory_docs WHERE expires IS NOT NULL AND expires <= ?',
      Date.now(),
    )
    .one()
  return head.counts.memories - n
}
