// A world's entries and events as the items of pages, in order, as a version saw them.

import { hex } from '../../crypto.ts'
import type { Canonical } from '../../protocol/canonical.ts'
import { eventValue } from '../../protocol/digests.ts'
import type { RefKind } from '../../protocol/refs.ts'
import type { Item, PageRef } from '../../snapshot/page.ts'
import { inParts, partRows } from '../each.ts'
import { type EventRow, eventColumns, seqAt } from '../read-log.ts'
import { type Entry, entriesFrom } from '../store.ts'
import type { World } from '../world.ts'

/** Every kind that pages are made of, in the order of a manifest. */
export const pagedKinds: readonly RefKind[] = ['file', 'log', 'memory', 'row', 'state', 'table', 'view']

/** Items of a kind from a key on. To be used up or left within one synchronous step. */
export function* itemsFrom(world: World, kind: RefKind, first: string, version: number): Generator<Item> {
  if (kind === 'log') yield* eventsFrom(world, Number(first === '' ? '1' : first), seqAt(world, version))
  else
    for (const entry of entriesFrom(world.sql, kind, first, true, version, world.head.version))
      yield entryItem(entry)
}

/** The items of one page, as the version it was cut from saw them. */
export function itemsOfPage(
  world: World,
  { kind, first, count }: Pick<PageRef, 'kind' | 'first' | 'count'>,
  version: number,
): Item[] {
  const items: Item[] = []
  for (const item of itemsFrom(world, kind, first, version)) {
    items.push(item)
    if (items.length === count) break
  }
  return items
}

function* eventsFrom({ sql }: World, first: number, newest: number): Generator<Item> {
  const rows = inParts<EventRow>(partRows, (after) =>
    sql.exec<EventRow>(
      `SELECT ${eventColumns} FROM events WHERE seq >= ? AND seq <= ? ORDER BY seq LIMIT ?`,
      after === null ? first : after.seq + 1,
      newest,
      partRows,
    ),
  )
  for (const row of rows) yield eventItem(row)
}

function entryItem({ key, text, blob, size, salt, digest, inputs }: Entry): Item {
  return {
    key,
    digest: hex(digest),
    salt: hex(salt),
    text,
    blob,
    size,
    from: inputs === null ? null : JSON.parse(inputs),
  }
}

/** An event's text is all that its digest covers; of a payload in R2 it is what stands around it, with `null` in its place. */
export function eventItem(row: EventRow): Item {
  const { seq, type, lane, key, parent, text, blob, size, inputs } = row
  // What was stored was canonical; where there is nothing, `null` is.
  const payload = (text ?? 'null') as Canonical
  const value =
    text === null && blob === null
      ? null
      : eventValue({ type, lane, payload, key: key ?? undefined, parent: parent ?? undefined })
  return {
    key: String(seq),
    digest: hex(row.digest),
    salt: hex(row.salt),
    text: value,
    blob,
    size,
    from: inputs === null ? null : JSON.parse(inputs),
  }
}
