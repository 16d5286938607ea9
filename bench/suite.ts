// What a suite of measurements is: a name to choose it by, and figures to show for it.

import type { Stage } from './support/stage.ts'

export interface Suite {
  /** As in `--only`. */
  name: string
  /** One line for the reader of the table. */
  about: string
  run(stage: Stage): Promise<Figure[]>
}

export interface Figure {
  what: string
  measured: number
  /** Of `measured` and of the target: `x` for a ratio. */
  unit: string
  /** Absent where a figure only informs. */
  target?: { atLeast: number } | { atMost: number }
  /** How it came about: samples, spread, what it stands for. */
  note?: string
}

export function isMet({ measured, target }: Figure): boolean | null {
  if (target === undefined) return null
  return 'atLeast' in target ? measured >= target.atLeast : measured <= target.atMost
}
