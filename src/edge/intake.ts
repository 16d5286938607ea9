// Pages on their way into a world: each is what its name says, in its place, and each value is what its digest says.

import { hashes, unhex } from '../crypto.ts'
import { sha256Pattern } from '../protocol/names.ts'
import type { RefKind } from '../protocol/refs.ts'
import type { StagedValue } from '../session/archive-rpc.ts'
import { type EventLine, members } from '../snapshot/archive.ts'
import { checkItem, type EventSaid } from '../snapshot/check.ts'
import { type Manifest, readManifest, sealManifest } from '../snapshot/manifest.ts'
import { compareKeys } from '../snapshot/order.ts'
import { cutPages, type Item, type PageRef, pageName, readPage } from '../snapshot/page.ts'
import { refused } from './archive-reader.ts'
import { Problem } from './reply.ts'
import type { Staging } from './staging.ts'

/** What stands beside a page's items; the restore of a snapshot has less of it. */
export interface Beside {
  /** The version that wrote an entry. */
  since(index: number): number
  event(
    index: number,
  ): Pick<EventLine, 'version' | 'at' | 'actor' | 'origin' | 'cut' | 'type' | 'lane' | 'parent'>
}

/** A manifest whose hash is the root, written as manifests are. */
export function checkManifest(name: string, text: string, root: string): Manifest {
  const manifest = parsed(name, () => readManifest(text))
  const sealed = parsed(name, () => sealManifest(hashes, manifest))
  if (sealed.text !== text) throw refused(name, 'not as a manifest is written')
  if (sealed.root !== root) throw refused(name, 'its SHA-256 is not the root', 'digest_mismatch')
  let before: PageRef | null = null
  for (const page of manifest.pages) {
    const inOrder =
      before === null ||
      before.kind < page.kind ||
      (before.kind === page.kind && compareKeys(page.kind, before.first, page.first) < 0)
    if (!inOrder || page.count < 1 || !sha256Pattern.test(page.name))
      throw refused(name, `no page is like ${page.name.slice(0, 64)}, or not at this place`)
    before = page
  }
  return manifest
}

export class Intake {
  readonly #staging: Staging
  readonly #pages: readonly PageRef[]
  #last: { kind: RefKind; key: string } | null = null

  constructor(staging: Staging, { pages }: Manifest) {
    this.#staging = staging
    this.#pages = pages
  }

  /** The items of a page, once it is what its name says; their values are yet to be checked. */
  read(index: number, text: string): Item[] {
    const page = this.#pages[index]
    if (page === undefined) throw new Error('there is no such page')
    const name = members.page(page.name)
    const items = parsed(name, () => readPage(text))
    if (items.length !== page.count || items[0]?.key !== page.first)
      throw refused(name, 'the manifest tells of another page')
    if (parsed(name, () => pageName(hashes, page.kind, items)) !== page.name)
      throw refused(name, 'its items are not what its name says', 'digest_mismatch')
    for (const item of items) this.#follow(name, page.kind, item.key)
    this.#checkBorders(name, index, items)
    return items
  }

  /** Keys rise through all pages of a kind; the log has no holes. */
  #follow(name: string, kind: RefKind, key: string): void {
    const last = this.#last?.kind === kind ? this.#last.key : null
    const follows =
      kind === 'log'
        ? key === String(Number(last ?? 0) + 1)
        : last === null || compareKeys(kind, last, key) < 0
    if (!follows) throw refused(name, `${JSON.stringify(key.slice(0, 200))} is out of order`)
    this.#last = { kind, key }
  }

  /** Cut as pages are cut, or the same world would have another root here. */
  #checkBorders(name: string, index: number, items: readonly Item[]): void {
    const page = this.#pages[index]
    // What was erased had a length once that counted.
    if (page === undefined || items.some(({ salt }) => salt === '')) return
    const goesOn = this.#pages[index + 1]?.kind === page.kind
    const cut = [...cutPages(hashes, page.kind, goesOn ? [...items, following] : items)]
    if (cut[0]?.count !== items.length) throw refused(name, 'it ends where no page does')
  }

  /** Checks the values of a page and hands its rows over. */
  async take(index: number, items: readonly Item[], beside: Beside): Promise<void> {
    const page = this.#pages[index]
    if (page === undefined) throw new Error('there is no such page')
    const name = members.page(page.name)
    const checked = await checkValues(this.#staging, name, page.kind, items)
    for (const [i, item] of items.entries()) {
      const event = checked[i] ?? null
      if (page.kind === 'log') await this.#event(item, event, beside.event(i))
      else
        await this.#staging.entry({
          ...stagedValue(item),
          kind: page.kind,
          key: item.key,
          since: beside.since(i),
        })
    }
  }

  async #event(item: Item, said: EventSaid | null, line: ReturnType<Beside['event']>): Promise<void> {
    await this.#staging.event({
      ...stagedValue(item),
      text: said?.payload ?? null,
      seq: Number(item.key),
      version: line.version,
      at: Date.parse(line.at),
      actor: line.actor,
      origin: line.origin === undefined ? null : JSON.stringify(line.origin),
      // Of an erased event this is what is left.
      type: said?.type ?? line.type ?? 'lares.erased',
      lane: said?.lane ?? line.lane ?? 'main',
      key: said?.key ?? null,
      parent: said?.parent ?? line.parent ?? null,
      call: said?.call ?? null,
      cut: said?.cut ?? line.cut ?? null,
    })
  }
}

/** Something that follows, of which only that it follows is asked. */
const following: Item = { key: '', digest: '', salt: '', text: null, blob: null, size: 0, from: null }

/** Checks that items are what they say; answers what each event says, in order. */
export async function checkValues(
  staging: Staging,
  name: string,
  kind: RefKind,
  items: readonly Item[],
): Promise<(EventSaid | null)[]> {
  const blobs = items.map(({ blob }) => blob).filter((blob) => blob !== null)
  const places = await staging.places(blobs)
  const said: (EventSaid | null)[] = []
  for (const item of items) {
    const large = item.blob === null ? null : await staging.large(places.get(item.blob), item.blob)
    if (large !== null && typeof large !== 'string') throw new Problem({ ...large, pointer: name })
    const checked = checkItem(hashes, kind, item, large)
    if (checked.problem !== null)
      throw refused(name, `${kind}:${item.key.slice(0, 200)}: ${checked.problem}`, codeOf(checked.problem))
    said.push(checked.event)
  }
  return said
}

function codeOf(problem: string): 'digest_mismatch' | 'invalid' {
  return problem.includes('digest') ? 'digest_mismatch' : 'invalid'
}

export function stagedValue({ digest, salt, text, blob, size, from }: Item): StagedValue {
  return {
    inputs: from === null ? null : JSON.stringify(from),
    text,
    blob,
    size,
    salt: unhex(salt),
    digest: unhex(digest),
  }
}

function parsed<T>(name: string, read: () => T): T {
  try {
    return read()
  } catch {
    throw refused(name, 'it does not read back')
  }
}
