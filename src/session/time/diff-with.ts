// Diff of two sessions: by the names of their pages, so that what is alike is not looked at.

import { fail, type Outcome } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { formatRef } from '../../protocol/refs.ts'
import { compareWorlds, type Difference, type Paged } from '../../snapshot/compare.ts'
import type { Item } from '../../snapshot/page.ts'
import type { SessionStub } from '../rpc.ts'
import { resolveAt } from '../time.ts'
import type { World } from '../world.ts'
import type { DiffItem, DiffPage, DiffQuery } from './diff.ts'
import { itemsOfPage } from './items.ts'
import { pagesAt } from './page-list.ts'

/** From this session at `from` to another at `to`. */
export async function diffSessions(
  world: World,
  other: SessionStub,
  query: DiffQuery,
): Promise<Outcome<DiffPage>> {
  const from = resolveAt(world, query.from)
  if (!from.ok) return from
  const theirs = await other.pageList(query.to)
  if (!theirs.ok) return theirs
  const letGo = world.hold(from.version)
  try {
    const mine: Paged = {
      pages: pagesAt(world, from.version),
      items: async (page) => itemsOfPage(world, page, from.version),
    }
    const there: Paged = { pages: theirs.pages, items: (page) => other.pageItems(page, theirs.version) }
    return await collect(mine, there, query, theirs.version)
  } finally {
    letGo()
  }
}

async function collect(
  mine: Paged,
  there: Paged,
  query: DiffQuery,
  version: number,
): Promise<Outcome<DiffPage>> {
  const { kinds, prefix } = query.filter
  const items: DiffItem[] = []
  let bytes = 0
  let past = query.cursor === null
  for await (const difference of compareWorlds(mine, there, kinds ?? undefined)) {
    const ref = formatRef(difference.kind, difference.key)
    if (!past) {
      past = ref === query.cursor
      continue
    }
    if (prefix !== '' && (difference.kind === 'log' || !difference.key.startsWith(prefix))) continue
    const last = items.at(-1)
    if (last !== undefined && (items.length >= query.limit || bytes > limits.pageBytes))
      return { ok: true, version, items, next: last.ref }
    items.push(asItem(ref, difference))
    bytes += (difference.before?.text?.length ?? 0) + (difference.after?.text?.length ?? 0)
  }
  if (!past)
    return fail('invalid', 'the worlds have changed; begin again without a cursor', { pointer: 'cursor' })
  return { ok: true, version, items, next: null }
}

function asItem(ref: string, { kind, before, after }: Difference): DiffItem {
  const change = before === null ? 'added' : after === null ? 'removed' : 'changed'
  return { ref, kind, change, before: shown(before), after: shown(after) }
}

function shown(item: Item | null): DiffItem['before'] {
  if (item === null) return null
  if (item.text !== null) return [item.text]
  return item.blob === null ? ['null'] : [{ blob: item.blob, size: item.size, place: null }]
}
