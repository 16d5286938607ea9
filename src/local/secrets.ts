// What a data folder must remember to stay the same fleet: its generated key, what signs tokens, and what salts
// digests. Losing the last makes old and new digests of equal values differ, so an unreadable file stops the start
// and is never replaced.

import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LocalError } from './errors.ts'

export interface Secrets {
  rootKey: string
  signingSecret: string
  digestSecret: string
  /** The key was made just now, so nobody has seen it yet. */
  keyIsNew: boolean
}

/**
 * Reads the secrets of a data folder and makes those that are missing. A `key` given by the user counts for this
 * start only: the one that was made here before stays on file.
 */
export function loadSecrets(data: string, key?: string): Secrets {
  const path = secretsPath(data)
  const stored = read(path)
  const keyIsNew = key === undefined && stored.root_key === undefined
  const complete: Stored = {
    ...stored,
    signing_secret: stored.signing_secret ?? randomSecret(),
    digest_secret: stored.digest_secret ?? randomSecret(),
    ...(keyIsNew ? { root_key: `lares_root_${randomSecret()}` } : {}),
  }
  if (JSON.stringify(complete) !== JSON.stringify(stored)) write(path, complete)
  return {
    rootKey: key ?? complete.root_key ?? '',
    signingSecret: complete.signing_secret ?? '',
    digestSecret: complete.digest_secret ?? '',
    keyIsNew,
  }
}

/** Where a data folder keeps its secrets. */
export function secretsPath(data: string): string {
  return join(data, 'secrets.json')
}

interface Stored {
  root_key?: string
  signing_secret?: string
  digest_secret?: string
}

const FIELDS = ['root_key', 'signing_secret', 'digest_secret'] as const

function read(path: string): Stored {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {}
    throw new LocalError(`${path} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
  const stored = parse(text)
  if (stored === null)
    throw new LocalError(`${path} is damaged. Restore it from a backup, or use another data folder.`)
  return stored
}

function parse(text: string): Stored | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  const stored: Stored = {}
  for (const field of FIELDS) {
    const secret: unknown = Reflect.get(value, field)
    if (secret === undefined) continue
    if (typeof secret !== 'string' || secret === '') return null
    stored[field] = secret
  }
  return stored
}

/** Renames a complete file into place: a crash leaves the old one or the new one, never half of one. */
function write(path: string, stored: Stored): void {
  const draft = `${path}.${process.pid}.tmp`
  writeFileSync(draft, `${JSON.stringify(stored, null, 2)}\n`, { mode: 0o600, flush: true })
  renameSync(draft, path)
}

function randomSecret(): string {
  return randomBytes(32).toString('base64url')
}
