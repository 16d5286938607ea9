// The machine stalls now and then and has other things to do: everything quoted is a median, and everything compared is
// compared within one short round.

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const place = (sorted.length - 1) * q
  const low = sorted[Math.floor(place)] ?? Number.NaN
  const high = sorted[Math.ceil(place)] ?? Number.NaN
  return low + (high - low) * (place - Math.floor(place))
}

/** The middle half, for a note beside a median. */
export function spread(values: readonly number[]): string {
  return `middle half ${quantile(values, 0.25).toFixed(2)} to ${quantile(values, 0.75).toFixed(2)} of ${values.length} rounds`
}

/**
 * Runs every contender once a round, each round in another order, so that what disturbs the machine hits all alike.
 *
 * @returns what each contender measured, round by round; a first round, which warms them up, is left out
 */
export async function interleave<K extends string>(
  rounds: number,
  contenders: Record<K, () => Promise<number>>,
): Promise<Record<K, number[]>> {
  // `Object.keys` forgets which keys they are.
  const names = Object.keys(contenders) as K[]
  // Every name gets its list in the line after.
  const measured = {} as Record<K, number[]>
  for (const name of names) measured[name] = []
  for (let round = -1; round < rounds; round++) {
    const turn = (round + names.length) % names.length
    for (const name of [...names.slice(turn), ...names.slice(0, turn)]) {
      const value = await contenders[name]()
      if (round >= 0) measured[name].push(value)
    }
  }
  return measured
}

export function ratios(above: readonly number[], below: readonly number[]): number[] {
  return above.map((value, round) => value / (below[round] ?? Number.NaN))
}
