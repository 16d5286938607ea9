// Comparing two worlds by their pages: pages of one name are equal and are not read; only where names differ are items compared.

import { compareKeys } from './order.ts'
import type { Item, PageRef } from './page.ts'

/** A world as a list of pages whose items can be had. */
export interface Paged {
  pages: readonly PageRef[]
  items(page: PageRef): Promise<readonly Item[]>
}

export interface Difference {
  kind: PageRef['kind']
  key: string
  before: Item | null
  after: Item | null
}

/**
 * Everything that differs, in order of kind and key.
 *
 * @param only compares nothing but these kinds, when given
 */
export async function* compareWorlds(
  before: Paged,
  after: Paged,
  only?: readonly PageRef['kind'][],
): AsyncGenerator<Difference> {
  const kinds = new Set([...before.pages, ...after.pages].map((page) => page.kind))
  for (const kind of [...kinds].sort()) {
    if (only && !only.includes(kind)) continue
    const shared = sharedNames(before, after, kind)
    yield* compareKind(kind, itemsOf(before, kind, shared), itemsOf(after, kind, shared))
  }
}

function sharedNames(before: Paged, after: Paged, kind: PageRef['kind']): Set<string> {
  const theirs = new Set(after.pages.filter((page) => page.kind === kind).map((page) => page.name))
  return new Set(
    before.pages.filter((page) => page.kind === kind && theirs.has(page.name)).map((page) => page.name),
  )
}

/** A page's name covers its keys, so a shared page stands at the same place of both worlds and can be left out of both. */
async function* itemsOf(
  world: Paged,
  kind: PageRef['kind'],
  leaveOut: ReadonlySet<string>,
): AsyncGenerator<Item> {
  for (const page of world.pages) {
    if (page.kind === kind && !leaveOut.has(page.name)) yield* await world.items(page)
  }
}

async function* compareKind(
  kind: PageRef['kind'],
  before: AsyncGenerator<Item>,
  after: AsyncGenerator<Item>,
): AsyncGenerator<Difference> {
  let a = await before.next()
  let b = await after.next()
  while (!a.done || !b.done) {
    const order = a.done ? 1 : b.done ? -1 : compareKeys(kind, a.value.key, b.value.key)
    const left = order <= 0 && !a.done ? a.value : null
    const right = order >= 0 && !b.done ? b.value : null
    if (left?.digest !== right?.digest)
      yield { kind, key: left?.key ?? right?.key ?? '', before: left, after: right }
    if (left) a = await before.next()
    if (right) b = await after.next()
  }
}
