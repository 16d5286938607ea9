// Three-way merge, entry by entry. Pure: what to do with each reference, given what it was and what both sides made of it.

export type Strategy = 'fail' | 'ours' | 'theirs'

/** Digests, null for absent. */
export interface Sides {
  base: string | null
  ours: string | null
  theirs: string | null
}

/** `keep`: ours stands. `take`: theirs comes over. `conflict`: both changed it, differently. */
export type Verdict = 'keep' | 'take' | 'conflict'

/** @example judge({ base: 'x', ours: 'x', theirs: 'y' }) // 'take' */
export function judge({ base, ours, theirs }: Sides): Verdict {
  if (theirs === base || theirs === ours) return 'keep'
  return ours === base ? 'take' : 'conflict'
}

/** A conflict's end: by the choice for this reference, else by the strategy; null when it stays open. */
export function settle(
  ref: string,
  strategy: Strategy,
  choices: Readonly<Record<string, 'ours' | 'theirs'>>,
): Verdict | null {
  const choice = Object.hasOwn(choices, ref) ? choices[ref] : strategy
  if (choice === 'ours') return 'keep'
  return choice === 'theirs' ? 'take' : null
}
