// A verifier of histories that shares nothing with what it verifies: it knows docs/digests.md, SHA-256 and the answers of
// `GET …/commits/{version}` alone.

import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'

/** One commit as the API shows it in full. */
export interface ShownCommit {
  version: number
  at: string
  actor: string
  message: string | null
  cause: unknown
  digest: string
  previous: string
  ops: { op: string; ref: string; digest: string | null; from?: string[]; salt?: string; value?: unknown }[]
}

/**
 * What does not verify, in words; nothing when all of it does.
 *
 * @param commits the whole history, version 1 first
 * @param head the digest the session shows of itself
 */
export function problemsOf(commits: readonly ShownCommit[], head: string): string[] {
  const problems: string[] = []
  let previous = '0'.repeat(64)
  for (const [index, commit] of commits.entries()) {
    const { version, at, actor, message, cause, ops } = commit
    if (version !== index + 1) problems.push(`version ${version} stands in place ${index + 1}`)
    if (commit.previous !== previous) problems.push(`version ${version} does not follow the one before`)
    let lines = line({ previous, version, at, actor, message, cause })
    for (const { op, ref, digest, from, salt, value } of ops) {
      if (digest !== null && salt === undefined) problems.push(`${ref} of version ${version} has no value`)
      if (salt !== undefined && sha256(Buffer.from(salt, 'hex'), text(value)) !== digest) {
        problems.push(`${ref} of version ${version} has another digest`)
      }
      lines += line(from === undefined ? [op, ref, digest] : [op, ref, digest, from])
    }
    if (sha256(lines) !== commit.digest) problems.push(`version ${version} has another digest`)
    previous = commit.digest
  }
  if (previous !== head) problems.push('the head is not the end of the chain')
  return problems
}

function line(value: unknown): string {
  return `${text(value)}\n`
}

function text(value: unknown): string {
  const written = canonicalize(value)
  if (written === undefined) throw new Error('not JSON')
  return written
}

function sha256(...parts: (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}
