// Builds dist, and knows when it is what the sources say, so that a second start costs no build.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fail } from './fail.mjs'
import { root } from './root.mjs'
import { bin, run } from './run.mjs'

/** Bundles the Worker and the libraries unless they are fresh. Its words go to stderr. */
export function ensureBuilt() {
  const digest = digestOfSources()
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return
  rmSync(stamp, { force: true })
  if (run(bin('tsdown'), ['--log-level', 'warn'], { stdio: ['ignore', 2, 2] }) !== 0)
    fail('The build failed; its reasons are above.')
  mkdirSync(dist, { recursive: true })
  writeFileSync(stamp, digest)
}

/** Bundles everything anew and writes the declarations, as they are published. */
export function buildAll() {
  rmSync(dist, { recursive: true, force: true })
  ensureBuilt()
  const status = run(bin('typescript', 'tsc'), ['-p', 'tsconfig.build.json'], { stdio: 'inherit' })
  if (status !== 0) fail('The declarations could not be written; the reasons are above.')
}

const dist = join(root, 'dist')
const stamp = join(dist, '.stamp')

function digestOfSources() {
  const hash = createHash('sha256')
  const sources = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort()
  for (const file of [...sources, ...INPUTS.map((name) => join(root, name))]) {
    hash.update(file).update('\0').update(readFileSync(file)).update('\0')
  }
  return hash.digest('hex')
}

const INPUTS = ['package.json', 'package-lock.json', 'tsdown.config.ts', 'tsconfig.json']
