// Every suite there is, in the order in which they run. A new one is one new file and two lines here.

import { benchAppends } from './appends.ts'
import { benchBytes } from './bytes.ts'
import { benchCommits } from './commits.ts'
import { benchGrowth } from './growth.ts'
import { benchMemory } from './memory.ts'
import { benchPast } from './past.ts'
import { benchRows } from './rows.ts'
import type { Suite } from './suite.ts'
import { benchTables } from './tables.ts'
import { benchTime } from './time.ts'

export const suites: readonly Suite[] = [
  benchRows,
  benchAppends,
  benchCommits,
  benchGrowth,
  benchPast,
  benchTables,
  benchTime,
  benchBytes,
  benchMemory,
]
