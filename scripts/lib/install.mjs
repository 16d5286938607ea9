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
  // `npm ci` deletes what is there, which may be in use, and refuses a lock file that lacks what a registry has for
  // other platforms; `npm install` does neither.
  const done = (!existsSync(modules) && npm('ci')) || npm('install', '--no-save')
  if (!done || !existsSync(node)) {
    fail(
      'The dependencies could not be installed; the reasons of npm are above.\n' +
        'This needs the npm registry once, and install scripts allowed for node, workerd and esbuild;\n' +
        'afterwards everything works offline.',
    )
  }
}

/** The Node the project runs on, whatever the system's own is. */
export const node = join(root, 'node_modules/node/bin', process.platform === 'win32' ? 'node.exe' : 'node')

const modules = join(root, 'node_modules')

/** Compares versions, not dates: a checkout gives files any date. */
function isInstalled() {
  const wanted = readPackages(join(root, 'package-lock.json'))
  const installed = readPackages(join(modules, '.package-lock.json'))
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

/** Runs the npm that runs us, or the one on the path; whether it succeeded. */
function npm(...args) {
  const cli = process.env.npm_execpath
  const all = [...args, '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']
  const options = { cwd: root, stdio: ['ignore', 2, 2] }
  const { status } = cli
    ? spawnSync(process.execPath, [cli, ...all], options)
    : spawnSync('npm', all, { ...options, shell: process.platform === 'win32' })
  return status === 0
}
