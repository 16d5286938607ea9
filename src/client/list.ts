// Lists of any length, read page by page: `for await` for all of it, `page()` for one.

/** One page of a list. */
export interface Page<T> {
  items: T[]
  /** Where the next page begins; null after the last. */
  next: string | null
  /** The version that the answer speaks of; undefined for lists of a whole fleet. */
  version: number | undefined
}

export interface PageOptions {
  /** Items a page, 1 to 1000; default 100. */
  limit?: number
  /** `next` of an earlier page: begin there. */
  cursor?: string
  signal?: AbortSignal
}

/** Gets the page that begins at `cursor`, or the first one. */
export type PageSource<T> = (cursor: string | undefined) => Promise<Page<T>>

/**
 * A list that is asked for as it is read. Each iteration begins anew.
 *
 * @example
 * for await (const entry of session.state.list({ prefix: 'plan/' })) console.log(entry.key, entry.value)
 * const { items, next } = await session.log.list({ limit: 10 }).page()
 */
export class List<T> implements AsyncIterable<T> {
  readonly #source: PageSource<T>
  readonly #start: string | undefined

  constructor(source: PageSource<T>, start?: string) {
    this.#source = source
    this.#start = start
  }

  /** One page: the first, or the one at `cursor`. */
  page(cursor: string | undefined = this.#start): Promise<Page<T>> {
    return this.#source(cursor)
  }

  /** Page after page. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    let cursor = this.#start
    do {
      const page = await this.#source(cursor)
      yield page
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
  }

  /** Item after item, over all pages. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.items
  }

  /** Everything at once: for lists known to be short. */
  async all(): Promise<T[]> {
    const items: T[] = []
    for await (const page of this.pages()) items.push(...page.items)
    return items
  }
}
