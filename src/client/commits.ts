// Commits: making one of any mix of kinds, and reading the ones that were made.

import { type Bytes, collect, contentDigest, hex, sha256 } from './bytes.ts'
import type { List, PageOptions } from './list.ts'
import type { ReadOptions, Scope, WriteOptions } from './scope.ts'
import { type PendingFile, type PendingOp, Transaction } from './transaction.ts'
import type { Commit, CommitInFull, Committed, Op } from './types.ts'

export interface CommitOptions extends WriteOptions {
  /** What it is for, in a person's words. */
  message?: string | undefined
  /** What made it happen: run, tool call, model, event … */
  cause?: Record<string, unknown> | undefined
  /** The version that the world must be at; otherwise `version_mismatch`, with the `head`. */
  expect?: number | undefined
}

/** Collects operations; may be asynchronous. */
export type Compose = (tx: Transaction) => void | Promise<void>

export interface CommitsOptions extends PageOptions {
  /** Only versions greater than this. */
  after?: number
  /** Only versions less than this. */
  before?: number
  order?: 'asc' | 'desc'
}

/** History: `session.commits`. */
export class Commits {
  readonly #scope: Scope

  constructor(scope: Scope) {
    this.#scope = scope
  }

  /** Commits, oldest first unless `order` is `desc`. */
  list({ after, before, order, ...page }: CommitsOptions = {}): List<Commit> {
    return this.#scope.list('/commits', { after, before, order }, page)
  }

  /**
   * One commit with the values of its operations, each with its `digest` and `salt`.
   *
   * @throws {LaresError} `no_such_version`
   */
  get(version: number, options: ReadOptions = {}): Promise<CommitInFull> {
    return this.#scope.json(`/commits/${version}`, options)
  }
}

/** Makes one commit: composes it, uploads the bytes it names, sends it. */
export async function commit(
  scope: Scope,
  what: Compose | { ops: readonly Op[] },
  { message, cause, expect, ...options }: CommitOptions,
): Promise<Committed> {
  const ops = await upload(scope, await compose(what), options)
  return scope.send('POST', '/commits', { ops, message, cause, expect }, options)
}

/** Puts bytes where a commit can name them; the same bytes twice are one blob. */
export async function putBlob(scope: Scope, bytes: Bytes, options: ReadOptions): Promise<string> {
  const sha = await sha256(bytes)
  const name = hex(sha)
  const headers = { 'content-type': 'application/octet-stream', 'content-digest': contentDigest(sha) }
  const read = async (response: Response) => void (await response.body?.cancel())
  await scope.write(
    `/blobs/${name}`,
    { method: 'PUT', headers, body: bytes, read },
    { signal: options.signal },
  )
  return name
}

async function compose(what: Compose | { ops: readonly Op[] }): Promise<readonly PendingOp[]> {
  if (typeof what !== 'function') return what.ops
  const tx = new Transaction()
  await what(tx)
  return tx.ops
}

/** Bytes go before the commit that names them: a commit never points at what is not there. */
async function upload(scope: Scope, pending: readonly PendingOp[], options: ReadOptions): Promise<Op[]> {
  const ops: Op[] = []
  for (const one of pending) ops.push(isPending(one) ? await place(scope, one, options) : one)
  return ops
}

async function place(scope: Scope, { op, content }: PendingFile, options: ReadOptions): Promise<Op> {
  return { ...op, blob: await putBlob(scope, await collect(content), options) }
}

function isPending(op: PendingOp): op is PendingFile {
  return 'content' in op
}
