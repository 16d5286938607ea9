// What there is to find on this day.

import type { Find } from './day.ts'

/** A PNG of one pixel; the last byte of its data tells one from another. */
function pixel(shade: number): Uint8Array {
  return Uint8Array.from([
    ...[137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0],
    shade,
  ])
}

export const morning: readonly Find[] = [
  { at: '2026-12-01T09:10:00+01:00', place: 'beach', note: 'a round stone', picture: pixel(1) },
  { at: '2026-12-01T10:45:00+01:00', place: 'harbour', note: 'rope with three knots', picture: pixel(2) },
]

export const afternoon: readonly Find[] = [
  { at: '2026-12-01T15:20:00+01:00', place: 'market', note: 'a blue door', picture: pixel(3) },
]
