// Bounded memory of credentials that were checked, in two generations: what is used moves to the young one, and when
// that is full the old one goes as a whole. Nearly as good as LRU, for one look-up a request.

export class Memory<T> {
  readonly #half: number
  #young = new Map<string, T>()
  #old = new Map<string, T>()

  /** @param atMost entries kept, about */
  constructor(atMost: number) {
    this.#half = Math.ceil(atMost / 2)
  }

  get(key: string): T | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: string, value: T): void {
    if (this.#young.size >= this.#half && !this.#young.has(key)) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }

  delete(key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }

  clear(): void {
    this.#young.clear()
    this.#old.clear()
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }
}
