// Runs the project's tools and programs on the project's own Node.

import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { node } from './install.mjs'
import { whenOrphaned } from './orphan.mjs'
import { root } from './root.mjs'

/** No tool phones home or looks for its own updates: everything works offline and says only what matters. */
export const env = {
  ...process.env,
  PATH: [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter),
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_SEND_ERROR_REPORTS: 'false',
  WRANGLER_HIDE_BANNER: 'true',
  DO_NOT_TRACK: '1',
  NO_UPDATE_NOTIFIER: '1',
}

/** Runs a script or a tool's command to its end and returns its exit code. */
export function run(file, args, options = {}) {
  const { status } = spawnSync(node, [file, ...args], { cwd: root, stdio: 'inherit', env, ...options })
  return status ?? 1
}

/** The file behind a command that an installed package brings. */
export function bin(name, command = name) {
  const path = join(root, 'node_modules', name, 'package.json')
  const { bin } = JSON.parse(readFileSync(path, 'utf8'))
  return join(dirname(path), typeof bin === 'string' ? bin : bin[command])
}

/**
 * Becomes another program, as nearly as Node allows: its streams, its signals and its exit code are ours. It is
 * told when we die by its IPC channel closing.
 */
export function become(file, args) {
  const child = spawn(node, [file, ...args], { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], env })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  whenOrphaned(() => child.kill('SIGTERM'))
  child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 143)))
}
