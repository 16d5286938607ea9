// What Miniflare is told: the same Worker, objects, catalog and bucket as wrangler.toml, in Miniflare's own words.
// Started directly, without wrangler's proxy in front, it serves several times the requests.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Log, LogLevel, type MiniflareOptions } from 'miniflare'

export interface WorkerOptions {
  host: string
  port: number
  data: string
  workerPath: string
  bindings: Record<string, string>
  /** Drops what the Worker logs. */
  quiet: boolean
  /** workerd crashed and was started again, as another process. */
  onRestart: () => void
}

export function miniflareOptions(options: WorkerOptions): MiniflareOptions {
  return {
    host: options.host,
    port: options.port,
    // The one option that makes objects, D1 and R2 survive a restart.
    resourcePersistencePath: join(options.data, 'store'),
    log: new Log(options.quiet ? LogLevel.NONE : LogLevel.WARN),
    logRequests: false,
    handleStructuredLogs: (entry) => {
      if (!options.quiet && (entry.level === 'warn' || entry.level === 'error')) console.error(entry.message)
    },
    unsafeHandleRuntimeRestart: options.onRestart,
    // Nothing is fetched at start and nothing is reported: it works offline.
    cf: false,
    telemetry: { enabled: false },
    enableDevRegistry: false,
    workers: [
      {
        config: {
          name: NAME,
          compatibilityDate: '2026-11-01',
          compatibilityFlags: ['nodejs_compat'],
          manifest: {
            mainModule: 'worker.js',
            modulesRoot: options.data,
            modules: { 'worker.js': { type: 'esm', contents: readFileSync(options.workerPath, 'utf8') } },
          },
          env: {
            SESSION: { type: 'durable-object', worker: NAME, exportName: 'Session' },
            FLEET: { type: 'durable-object', worker: NAME, exportName: 'Fleet' },
            LEDGER: { type: 'durable-object', worker: NAME, exportName: 'Ledger' },
            CATALOG: { type: 'd1', id: 'catalog' },
            BLOBS: { type: 'r2', name: 'blobs' },
            ...textBindings(options.bindings),
          },
          exports: {
            Session: { type: 'durable-object', storage: 'sqlite' },
            Fleet: { type: 'durable-object', storage: 'sqlite' },
            Ledger: { type: 'durable-object', storage: 'sqlite' },
          },
        },
      },
    ],
  }
}

// Names the objects' folder on disk: another name would be another, empty world.
const NAME = 'lares'

function textBindings(bindings: Record<string, string>): Record<string, { type: 'text'; value: string }> {
  return Object.fromEntries(
    Object.entries(bindings).map(([name, value]) => [name, { type: 'text', value } as const]),
  )
}
