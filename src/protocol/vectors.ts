// Vectors as they are kept: the bytes of their single-precision numbers, little-endian, as base64. A vector in a value is then
// versioned, compared and hashed like any text, at a quarter of what its decimal digits would take.

/** Base64 of float32 numbers, little-endian. */
export type PackedVector = string & { readonly __vector: true }

export interface VectorProblem {
  problem: string
  path: number[]
}

/** Packs numbers, or says why they are no vector: what has no direction is near nothing, and what is not finite near everything. */
export function packVector(numbers: readonly number[]): PackedVector | VectorProblem {
  const floats = Float32Array.from(numbers)
  let zero = true
  for (const [i, number] of floats.entries()) {
    if (!Number.isFinite(number)) return { problem: 'not a finite single-precision number', path: [i] }
    if (number !== 0) zero = false
  }
  return zero ? { problem: 'a vector must not be all zeros', path: [] } : packFloats(floats)
}

export function packFloats(floats: Float32Array): PackedVector {
  const view = new DataView(new ArrayBuffer(floats.length * 4))
  for (const [i, number] of floats.entries()) view.setFloat32(i * 4, number, true)
  // The brand says where such texts come from: here.
  return toBase64(new Uint8Array(view.buffer)) as PackedVector
}

/** The numbers of a packed vector. */
export function unpackVector(packed: string): Float32Array {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0))
  const view = new DataView(bytes.buffer)
  return Float32Array.from({ length: bytes.length >> 2 }, (_, i) => view.getFloat32(i * 4, true))
}

/** How many numbers a packed vector has, without unpacking it. */
export function dimsOf(packed: string): number {
  const padding = packed.endsWith('==') ? 2 : packed.endsWith('=') ? 1 : 0
  return ((packed.length / 4) * 3 - padding) / 4
}

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let i = 0; i < bytes.length; i += 8192) binary += String.fromCharCode(...bytes.subarray(i, i + 8192))
  return btoa(binary)
}
