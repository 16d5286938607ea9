// JSON Merge Patch, RFC 7396. Our own, in a dozen lines, because libraries assign members by name, and a member called
// `__proto__` must be plain data.

import type { Json } from './canonical.ts'

/**
 * The target with the patch merged into it; neither argument is changed.
 *
 * @example mergePatch({ a: 1, b: 2 }, { b: null, c: 3 }) // { a: 1, c: 3 }
 */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch
  const members = new Map<string, Json>(isObject(target) ? Object.entries(target) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name)
    else members.set(name, mergePatch(members.get(name), value))
  }
  // fromEntries defines members, so `__proto__` stays an own property.
  return Object.fromEntries(members)
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
