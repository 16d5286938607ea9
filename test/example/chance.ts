// Chance that can be had again: the same seed gives the same numbers.

export interface Chance {
  seed: number
  /** At least 0, less than 1. */
  next(): number
  /** A whole number from `least` to `most`. */
  whole(least: number, most: number): number
}

/** Mulberry32. LARES_SEED sets the seed of a run that is to be repeated. */
export function chance(seed = Number(process.env.LARES_SEED ?? Math.floor(Math.random() * 2 ** 32))): Chance {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  return { seed, next, whole: (least, most) => least + Math.floor(next() * (most - least + 1)) }
}
