// Recomputes a session's chain of digests from what the edge serves, with nothing of ours but the rules in docs/digests.md.

import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { CommitInFull, Session } from '../../src/client/index.ts'

/** What does not match, in words; nothing when the whole history verifies. */
export async function chainProblems(session: Session): Promise<string[]> {
  const { version, digest } = await session.get()
  const problems: string[] = []
  let previous = '0'.repeat(64)
  for (let v = 1; v <= version; v++) {
    const commit = await session.commits.get(v)
    if (commit.version !== v) problems.push(`version ${v} calls itself ${commit.version}`)
    if (commit.previous !== previous) problems.push(`the link of version ${v} to the one before`)
    for (const { ref, digest, salt, value } of commit.ops) {
      if (digest !== null && sha256(Buffer.from(salt ?? '', 'hex'), line(value)) !== digest) {
        problems.push(`the value of ${ref} at version ${v}`)
      }
    }
    if (commitDigest(previous, commit) !== commit.digest) problems.push(`the commit ${v}`)
    previous = commit.digest
  }
  if (previous !== digest) problems.push('the head')
  return problems
}

function commitDigest(previous: string, { version, at, actor, message, cause, ops }: CommitInFull): string {
  const header = line({ previous, version, at, actor, message, cause })
  const changes = ops.map(({ op, ref, digest, from }) =>
    line(from ? [op, ref, digest, from] : [op, ref, digest]),
  )
  return sha256([header, ...changes].map((text) => `${text}\n`).join(''))
}

/** RFC 8785. */
function line(value: unknown): string {
  return canonicalize(value) ?? ''
}

function sha256(...parts: (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}
