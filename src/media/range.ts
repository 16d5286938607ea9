// One byte range, RFC 9110 section 14. Pure.

export interface ByteRange {
  /** First byte. */
  start: number
  /** Last byte, included. */
  end: number
}

/**
 * What a `Range` header asks of a file; null means the whole of it. A header of several ranges, or of another unit, or
 * malformed, is passed over, as the standard allows.
 *
 * @example parseRange('bytes=8-99', 10) // { start: 8, end: 9 }
 */
export function parseRange(header: string | undefined, size: number): ByteRange | null | 'unsatisfiable' {
  const match = header === undefined ? null : /^bytes=(\d*)-(\d*)$/.exec(header.trim())
  if (!match) return null
  const [, first = '', last = ''] = match
  if (first === '' && last === '') return null
  if (first === '') return suffix(Number(last), size)
  const start = Number(first)
  if (last !== '' && Number(last) < start) return null
  if (start >= size) return 'unsatisfiable'
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}

function suffix(length: number, size: number): ByteRange | 'unsatisfiable' {
  if (length === 0 || size === 0) return 'unsatisfiable'
  return { start: Math.max(0, size - length), end: size - 1 }
}
