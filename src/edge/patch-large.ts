// Patches of large values. The object is synchronous and cannot read R2 between its check and its write, so it refuses, and
// the edge does it: reads the value, patches it, and commits the result on the condition that the value is still what was
// patched. If it moved, once more from the beginning.

import { hashes, hex, saltKeyOf } from '../crypto.ts'
import { type Canonical, canonical, ValueError } from '../protocol/canonical.ts'
import { saltOf, valueDigest } from '../protocol/digests.ts'
import { type Failure, fail, type Outcome } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import { mergePatch } from '../protocol/merge-patch.ts'
import type { Operation } from '../protocol/ops.ts'
import type { NewBlob } from '../session/blob-rpc.ts'
import type { CommitRequest, Committed, WireOperation } from '../session/rpc.ts'
import { callerOf } from './caller.ts'
import type { Visit } from './door.ts'
import { embedOps } from './embedding.ts'
import { Problem } from './reply.ts'
import { fill, type SpilledOps, spill, spillValue } from './spill.ts'

/** An operation as the edge has it, with HTTP's own conditions. */
export type AskedOperation = Operation & Pick<WireOperation, 'must' | 'match'>

/** How often a value may move under a patch before the client is asked to come later. */
const tries = 8

/** Characters of all values together that a commit's patches make at the edge. */
const patchedChars = 4 * limits.commitBytes

/** Commits operations, large values and patches of large values among them. */
export async function commitAny(
  visit: Visit,
  asked: string,
  ops: readonly AskedOperation[],
  rest: Omit<CommitRequest, 'ops' | 'blobs'> = {},
): Promise<Outcome<Committed>> {
  const caller = callerOf(visit.c, asked)
  const { ops: light, blobs } = await spill(visit, ops)
  const spilled = { ops: await embedOps(visit, light), blobs }
  let outcome = await visit.stub.commit(caller, { ...rest, ...spilled })
  const large = new Set<string>()
  for (let tried = 0; tried < tries; tried++) {
    const key = patchedElsewhere(outcome, ops)
    if (key === null) return outcome
    large.add(key)
    const patched = await applyPatches(visit, spilled, large)
    if ('code' in patched) return patched
    outcome = await visit.stub.commit(caller, { ...rest, ...patched })
  }
  if (patchedElsewhere(outcome, ops) === null) return outcome
  return fail('unavailable', 'the value keeps changing under the patch; try again', { retry_after: 1 })
}

/** The key whose patch the object leaves to the edge; null when the outcome is final. */
function patchedElsewhere(outcome: Outcome<Committed>, ops: readonly Operation[]): string | null {
  if (outcome.ok || outcome.code !== 'too_large' || outcome.limit !== limits.inlineBytes) return null
  const op = ops[Number(/^\/ops\/(\d+)$/.exec(outcome.pointer ?? '')?.[1])]
  return op?.op === 'state.patch' ? op.key : null
}

/** What a key holds at one place in the list of operations; absent is null. */
interface Held {
  text: Canonical | null
  digest: string | null
}

/** The same operations, with the patches of some keys applied. */
async function applyPatches(
  visit: Visit,
  { ops, blobs }: SpilledOps,
  large: ReadonlySet<string>,
): Promise<SpilledOps | Failure> {
  const held = new Map<string, Held>()
  const out: SpilledOps = { ops: [], blobs: [...blobs] }
  let room = patchedChars
  for (const [index, op] of ops.entries()) {
    if (!('key' in op) || op.key === undefined || !large.has(op.key) || op.op === 'log.append') {
      out.ops.push(op)
      continue
    }
    if (op.op === 'state.patch') {
      const base = held.get(op.key) ?? (await read(visit, op.key))
      const text = patchedText(base.text, op.patch, index)
      room -= text.length
      // A small patch may make a large value, and each is written.
      if (room < 0)
        return fail('too_large', 'the patched values of one commit are too large together', {
          limit: patchedChars,
          pointer: `/ops/${index}`,
        })
      const value = (await spillValue(visit, text, text, out.blobs)) ?? text
      out.ops.push({ ...op, patch: canonical(null), patched: { base: base.digest, value } })
      held.set(op.key, { text, digest: digestOf(visit, text) })
      continue
    }
    out.ops.push(op)
    if (op.op === 'state.delete') held.set(op.key, { text: null, digest: null })
    else if (op.op === 'state.set') {
      const text = typeof op.value === 'string' ? op.value : await textOf(visit, op.value, blobs)
      held.set(op.key, { text, digest: digestOf(visit, text) })
    } else return fail('invalid', 'the value is not a number', { pointer: `/ops/${index}/key` })
  }
  return out
}

async function read(visit: Visit, key: string): Promise<Held> {
  const entry = await visit.stub.readEntry('state', key, null)
  if (!entry.ok) {
    if (entry.code === 'not_found') return { text: null, digest: null }
    throw new Problem(entry)
  }
  const text = await new Response(fill(visit.c.env, visit.who.fleet, [entry.value])).text()
  // What was stored was canonical, and reads back as it was written.
  return { text: text as Canonical, digest: entry.digest }
}

async function textOf(
  visit: Visit,
  { blob, size }: { blob: string; size: number },
  blobs: readonly NewBlob[],
): Promise<Canonical> {
  const place = blobs.find((one) => one.sha256 === blob)?.place
  const where = place !== undefined && 'key' in place ? { ...place, size } : null
  const body = fill(visit.c.env, visit.who.fleet, [{ blob, size, place: where }])
  // The edge itself has just written it, in canonical form.
  return (await new Response(body).text()) as Canonical
}

function patchedText(base: Canonical | null, patch: Canonical, index: number): Canonical {
  const pointer = `/ops/${index}`
  try {
    const text = canonical(mergePatch(base === null ? undefined : JSON.parse(base), JSON.parse(patch)))
    if (text.length * 3 <= limits.valueBytes || Buffer.byteLength(text) <= limits.valueBytes) return text
  } catch (error) {
    if (error instanceof ValueError) throw new Problem(fail('invalid', error.message, { pointer }))
    throw error
  }
  throw new Problem(
    fail('too_large', `larger than ${limits.valueBytes} bytes`, { pointer, limit: limits.valueBytes }),
  )
}

function digestOf({ c, who }: Visit, text: Canonical): string {
  const salt = saltOf(hashes, saltKeyOf(c.env.LARES_DIGEST_SECRET, who.fleet), text)
  return hex(valueDigest(hashes, salt, text))
}
