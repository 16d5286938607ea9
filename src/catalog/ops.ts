// A commit's list of operations as the catalog keeps it: bounded, because a thousand long paths would not fit in a row of D1,
// and pages of commits carry one list each.

/** Bytes of the list kept with a commit; about a thousand operations with names of usual length. */
const opsBytes = 64 * 1024

/** The first operations that fit, as JSON text, and whether there were more. */
export function cutOps(ops: string): { ops: string; more: boolean } {
  // A character has at most three bytes: nearly every list passes here, unparsed.
  if (ops.length * 3 <= opsBytes) return { ops, more: false }
  const parsed: unknown = JSON.parse(ops)
  if (!Array.isArray(parsed)) throw new TypeError('the operations of a commit are a JSON array')
  const kept: string[] = []
  let bytes = 2
  for (const op of parsed) {
    const text = JSON.stringify(op)
    bytes += new TextEncoder().encode(text).length + 1
    if (bytes > opsBytes) return { ops: `[${kept.join(',')}]`, more: true }
    kept.push(text)
  }
  return { ops, more: false }
}
