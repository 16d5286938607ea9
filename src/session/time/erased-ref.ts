// How the journal names what an erasure took: the reference, and for an entry the version that wrote the value.

import { formatRef, type RefKind } from '../../protocol/refs.ts'
import { splitRef } from './journal.ts'

export const eraseOperation = 'erase'

export interface ErasedRef {
  kind: RefKind
  key: string
  since: number
}

export function erasedRef({ kind, key, since }: ErasedRef): string {
  return kind === 'log' ? formatRef('log', key) : `${formatRef(kind, key)}@${since}`
}

/** Reads back what `erasedRef` wrote: the version stands last, whatever the key holds. */
export function erasedOf(ref: string): ErasedRef {
  const { kind, key } = splitRef(ref)
  if (kind === 'log') return { kind, key, since: 0 }
  const cut = key.lastIndexOf('@')
  return { kind, key: key.slice(0, cut), since: Number(key.slice(cut + 1)) }
}
