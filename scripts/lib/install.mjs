// Makes a fresh clone work: installs what the lock file names when it is not there. Runs on Node 20 and needs nothing
// installed, as it is what installs.

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fail } from './fail.mjs'
import { root } from './root.mjs'

/** Installs unless what is installed is what the lock file names. Its words go to stderr. */
export function ensureInstalled() {
  if (isInstalled()) return
  console.error('Installing the dependencies; this happens once.')
  const npm = process.env.npm_execpath
  const [command, args] = npm ? [process.execPath, [npm]] : ['npm', []]
  const { status } = spawnSync(
    command,
    [...args, 'ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'],
    {
      cwd: root,
      stdio: ['ignore', 2, 2],
      shell: npm === undefined && process.platform === 'win32',
    },
  )
  if (status !== 0 || !existsSync(node)) {
    fail(
      'The dependencies could not be installed (npm ci failed; its reasons are above).\n' +
        'This needs the npm registry once, and install scripts allowed for node, workerd and esbuild;\n' +
        'afterwards everything works offline.',
    )
  }
}

/** The Node the project runs on, whatever the system's own is. */
export const node = join(
  root,
  'node_modules',
  'node',
  'bin',
  process.platform === 'win32' ? 'node.exe' : 'node',
)

/** Compares versions, not dates: a checkout gives files any date. */
function isInstalled() {
  const wanted = readPackages(join(root, 'package-lock.json'))
  const installed = readPackages(join(root, 'node_modules', '.package-lock.json'))
  if (installed === undefined || !existsSync(node)) return false
  return Object.entries(wanted ?? {}).every(([path, { version, optional, devOptional }]) => {
    if (path === '') return true
    // What another platform needs is in the lock file alone.
    const missing = installed[path] === undefined
    return missing ? optional === true || devOptional === true : installed[path].version === version
  })
}

function readPackages(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : undefined
}
