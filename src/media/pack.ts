// Many small blobs in one R2 object: what it holds, and where in it each lies.

import type { Described } from './describe.ts'

export interface PackedBlob {
  sha256: string
  size: number
  /** First byte in the pack. */
  start: number
  media: Described
}

/** About this many bytes make a pack: few writes for many files, and a bound on what is held in memory. */
export const packBytes = 8 * 1024 * 1024

export class Pack {
  readonly blobs: PackedBlob[] = []
  readonly #pieces: Uint8Array[] = []
  size = 0

  /** Whether another blob of this size would better begin a new pack. */
  isFullFor(size: number): boolean {
    return this.size > 0 && this.size + size > packBytes
  }

  add(sha256: string, bytes: Uint8Array, media: Described): void {
    this.blobs.push({ sha256, size: bytes.byteLength, start: this.size, media })
    this.#pieces.push(bytes)
    this.size += bytes.byteLength
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#pieces)
  }
}
