// Answers are built as JSON text from the text that is stored, without parsing it. Where a value lies in R2 there is a hole,
// which the edge fills while it streams.

import { limits } from '../protocol/limits.ts'
import type { Piece } from './rpc.ts'
import { placeOf } from './store.ts'

export interface StoredValue {
  text: string | null
  blob: string | null
  blob_place?: string | null
  size: number
}

/** The stored value as a piece of JSON; null when it does not read back. */
export function valuePiece({ text, blob, blob_place, size }: StoredValue): Piece | null {
  return text ?? (blob === null ? null : { blob, size, place: placeOf(blob_place) })
}

/** A text of so many characters stays apart: a single character beyond Latin-1 doubles what the text it is in takes to travel. */
const ownPiece = 4096

/** Pieces with neighbouring short texts joined. */
export class Pieces {
  readonly list: Piece[] = []
  #text = ''
  #bytes = 0

  add(...pieces: Piece[]): this {
    for (const piece of pieces) {
      if (typeof piece === 'string' && piece.length < ownPiece) this.#text += piece
      else {
        this.#flush()
        this.list.push(piece)
      }
      this.#bytes += typeof piece === 'string' ? piece.length : piece.size
    }
    return this
  }

  /** About how many bytes have been added. */
  get bytes(): number {
    return this.#bytes
  }

  done(): Piece[] {
    this.#flush()
    return this.list
  }

  #flush(): void {
    if (this.#text !== '') this.list.push(this.#text)
    this.#text = ''
  }
}

/** Collects one page: as many items as asked, fewer when they are large, and where the next page begins. */
export class PageBuilder {
  readonly #pieces = new Pieces()
  readonly #limit: number
  #count = 0
  #last: string | number | null = null
  #more = false

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Adds an item, or answers false when the page is full: then there is a next page. */
  add(position: string | number, ...item: Piece[]): boolean {
    if (this.#count >= this.#limit || this.#pieces.bytes > limits.pageBytes) {
      this.#more = true
      return false
    }
    if (this.#count > 0) this.#pieces.add(',')
    this.#pieces.add(...item)
    this.#count++
    this.#last = position
    return true
  }

  page(version: number): { version: number; items: Piece[]; next: string | number | null } {
    return { version, items: this.#pieces.done(), next: this.#more ? this.#last : null }
  }
}
