// What a session's handle does with time: forks, diff, revert, merge, proof and erasure.

import type { List, PageOptions } from './list.ts'
import { type At, pointOf } from './paths.ts'
import { jsonBody, type ReadOptions, readJson, type Scope, type WriteOptions } from './scope.ts'
import type { Committed, Conflict, Difference, EntryKind, Verified } from './types.ts'

export interface ForkOptions extends WriteOptions {
  /** The child's name; made up when absent. */
  session?: string | undefined
  /** Where it begins; the head when absent. */
  at?: At | undefined
  title?: string | undefined
  labels?: Record<string, string> | undefined
}

export interface DiffOptions extends PageOptions {
  from?: At | undefined
  to?: At | undefined
  kind?: EntryKind | undefined
  prefix?: string | undefined
  /** Another session, whose world at `to` is compared with this one's at `from`. */
  with?: string | undefined
}

export interface RevertOptions extends WriteOptions {
  kinds?: readonly EntryKind[] | undefined
  prefix?: string | undefined
  message?: string | undefined
  expect?: number | undefined
}

export interface MergeOptions extends WriteOptions {
  strategy?: 'fail' | 'ours' | 'theirs' | undefined
  /** By reference, over the strategy. */
  choices?: Record<string, 'ours' | 'theirs'> | undefined
  message?: string | undefined
}

export type Written = Pick<Committed, 'version' | 'at' | 'digest'>
export type Reverted = Written & { changed: number }
export type Merged = Written & { applied: number; conflicts: Conflict[] }

export async function fork(
  scope: Scope,
  { session, at, title, labels, ...options }: ForkOptions,
): Promise<string> {
  const body = { session, at: at === undefined ? undefined : pointOf(at), title, labels }
  const made = await scope.send<{ session: string }>('POST', '/forks', body, options)
  return made.session
}

export function diff(
  scope: Scope,
  { from, to, kind, prefix, with: other, ...options }: DiffOptions,
): List<Difference> {
  return scope.list('/diff', { from, to, kind, prefix, with: other }, options)
}

export function revert(
  scope: Scope,
  to: At,
  { kinds, prefix, message, expect, ...options }: RevertOptions,
): Promise<Reverted> {
  return scope.send('POST', '/revert', { to: pointOf(to), kinds, prefix, message, expect }, options)
}

export function merge(
  scope: Scope,
  from: string,
  dryRun: boolean,
  { strategy, choices, message, ...options }: MergeOptions,
): Promise<Merged> {
  return scope.send('POST', '/merge', { from, strategy, choices, message, dry_run: dryRun }, options)
}

/** Verifies to the end, however many requests that takes. */
export async function verify(scope: Scope, options: ReadOptions): Promise<Omit<Verified, 'next'>> {
  let cursor: string | undefined
  const total = { checked: 0, erased: 0, problems: [] as Verified['problems'] }
  for (;;) {
    const step: Verified = await scope.json('/verify', { ...options, query: { cursor }, patience_ms: 60_000 })
    total.checked += step.checked
    total.erased += step.erased
    total.problems.push(...step.problems)
    if (step.next === null)
      return { ok: total.problems.length === 0, root: step.root, digest: step.digest, ...total }
    cursor = step.next
  }
}

export function erase(
  scope: Scope,
  refs: readonly string[],
  { message, ...options }: WriteOptions & { message?: string | undefined },
): Promise<{ version: number; erased: number }> {
  const call = {
    method: 'POST' as const,
    ...jsonBody({ refs, message }),
    read: readJson<{ version: number; erased: number }>,
  }
  return scope.write('/erase', call, options)
}
