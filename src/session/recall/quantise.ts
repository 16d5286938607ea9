// Vectors in a byte a number: what is held in memory for all memories at once, and is near enough to say which few are worth an
// exact look. Pure.

/** Of length 1; null for what has no direction. */
export function normalised(vector: Float32Array): Float32Array | null {
  let sum = 0
  // Scaled by the largest first: the squares of large numbers do not fit into a double of single-precision range otherwise.
  let largest = 0
  for (const number of vector) largest = Math.max(largest, Math.abs(number))
  if (largest === 0 || !Number.isFinite(largest)) return null
  for (const number of vector) sum += (number / largest) ** 2
  const length = Math.sqrt(sum)
  return vector.map((number) => number / largest / length)
}

export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += (a[i] ?? 0) * (b[i] ?? 0)
  return sum
}

/** A vector of length 1 as bytes: a float32 scale, little-endian, and an int8 for each number. */
export function quantised(unit: Float32Array): Uint8Array {
  let largest = 0
  for (const number of unit) largest = Math.max(largest, Math.abs(number))
  const bytes = new Uint8Array(4 + unit.length)
  const view = new DataView(bytes.buffer)
  view.setFloat32(0, largest / 127, true)
  for (const [i, number] of unit.entries()) view.setInt8(4 + i, Math.round((number / largest) * 127))
  return bytes
}
