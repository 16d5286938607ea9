// The order of keys: bytewise for entries, by number for the log.

import type { RefKind } from '../protocol/refs.ts'

export function compareKeys(kind: RefKind, a: string, b: string): number {
  return kind === 'log' ? Number(a) - Number(b) : compareBytes(a, b)
}

/**
 * Compares two well-formed texts by their UTF-8 bytes. JavaScript compares UTF-16 units, which puts characters beyond the basic
 * plane before some of its last ones.
 */
export function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x === y) continue
    const xHigh = x >= 0xd800 && x <= 0xdfff
    const yHigh = y >= 0xd800 && y <= 0xdfff
    if (xHigh !== yHigh) return xHigh ? 1 : -1
    return x - y
  }
  return a.length - b.length
}
