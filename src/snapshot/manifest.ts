// A manifest: the list of a world's pages. Its hash is the root.

import { canonical } from '../protocol/canonical.ts'
import type { Hashes } from '../protocol/digests.ts'
import type { RefKind } from '../protocol/refs.ts'
import { type PageRef, toHex } from './page.ts'

export interface Manifest {
  pages: PageRef[]
}

/** The manifest's canonical text, and its root: the SHA-256 of that text, as hex. Equal worlds of a fleet have equal roots. */
export function sealManifest(hashes: Hashes, { pages }: Manifest): { text: string; root: string } {
  const text = canonical({
    lares: 1,
    pages: pages.map(({ kind, first, count, name }) => [kind, first, count, name]),
  })
  return { text, root: toHex(hashes.sha256(text)) }
}

/** @throws when the text is no manifest */
export function readManifest(text: string): Manifest {
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null || Reflect.get(value, 'lares') !== 1)
    throw new Error('not a manifest')
  const pages: unknown = Reflect.get(value, 'pages')
  if (!Array.isArray(pages)) throw new Error('a manifest lists pages')
  return { pages: pages.map(readPageRef) }
}

const kinds: readonly RefKind[] = ['log', 'state', 'file', 'memory', 'row', 'table', 'view']

function readPageRef(value: unknown): PageRef {
  if (!Array.isArray(value) || value.length !== 4) throw new Error('not a page of a manifest')
  const [kind, first, count, name]: unknown[] = value
  const known = kinds.find((one) => one === kind)
  if (
    known === undefined ||
    typeof first !== 'string' ||
    !Number.isSafeInteger(count) ||
    typeof name !== 'string'
  ) {
    throw new Error('not a page of a manifest')
  }
  return { kind: known, first, count: Number(count), name }
}
