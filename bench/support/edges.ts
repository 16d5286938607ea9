// What is measured: the product as `startLocal` starts it, the floor, and the product without its catalog. All three are
// served by a Miniflare with the same options, each with a folder of its own.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Miniflare, type MiniflareOptions } from 'miniflare'
import { build } from 'tsdown'
import { startLocal } from '../../src/local/index.ts'
import { childrenRunning } from '../../src/local/process.ts'
import { miniflareOptions } from '../../src/local/worker-options.ts'

export interface Edge {
  url: string
  /** Sent as a bearer token; the floor asks for none. */
  key?: string
  /** The runtime's process. */
  pid: number
  close(): Promise<void>
}

/** The edge of `npm start`, with a fleet's own API key as its callers have one. */
export async function startLares(): Promise<Edge> {
  const { started: edge, pid } = await withPid(() => startLocal({ key: rootKey }))
  return { url: edge.url, pid, key: await fleetKey(edge.url), close: () => edge.close() }
}

/** The product from source, with its alarm stilled and its rows counted. */
export async function startInstrumented(): Promise<Edge> {
  const folder = temporary()
  await build({
    entry: { worker: join(import.meta.dirname, 'instrumented.ts') },
    outDir: folder.path,
    config: false,
    format: 'esm',
    target: 'es2024',
    platform: 'browser',
    dts: false,
    fixedExtension: false,
    logLevel: 'warn',
    inputOptions: { resolve: { conditionNames: ['workerd', 'worker', 'browser', 'import'] } },
    deps: { alwaysBundle: [/^/], neverBundle: [/^cloudflare:/, /^node:/], onlyBundle: false },
    outputOptions: { codeSplitting: false },
  })
  const served = await serve(options(folder.path, join(folder.path, 'worker.js')), folder)
  return { ...served, key: await fleetKey(served.url) }
}

/** Streams bytes to and from R2: no hash, no row, no credential. */
export async function startBytesFloor(): Promise<Edge> {
  const folder = temporary()
  const { workers: _, ...shared } = options(folder.path, join(import.meta.dirname, 'bytes-floor-worker.js'))
  const contents = readFileSync(join(import.meta.dirname, 'bytes-floor-worker.js'), 'utf8')
  return serve(
    {
      ...shared,
      workers: [
        {
          config: {
            name: 'floor',
            compatibilityDate: '2026-11-01',
            manifest: {
              mainModule: 'worker.js',
              modulesRoot: folder.path,
              modules: { 'worker.js': { type: 'esm', contents } },
            },
            env: { BLOBS: { type: 'r2', name: 'blobs' } },
          },
        },
      ],
    },
    folder,
  )
}

export async function startFloor(): Promise<Edge> {
  const folder = temporary()
  const { workers: _, ...shared } = options(folder.path, join(import.meta.dirname, 'floor-worker.js'))
  return serve(
    {
      ...shared,
      workers: [
        {
          config: {
            name: 'floor',
            compatibilityDate: '2026-11-01',
            manifest: {
              mainModule: 'worker.js',
              modulesRoot: folder.path,
              modules: {
                'worker.js': {
                  type: 'esm',
                  contents: readFileSync(join(import.meta.dirname, 'floor-worker.js'), 'utf8'),
                },
              },
            },
            env: { LOG: { type: 'durable-object', worker: 'floor', exportName: 'Log' } },
            exports: { Log: { type: 'durable-object', storage: 'sqlite' } },
          },
        },
      ],
    },
    folder,
  )
}

const rootKey = 'bench-root-key'

function options(data: string, workerPath: string) {
  return miniflareOptions({
    host: '127.0.0.1',
    port: 0,
    data,
    workerPath,
    quiet: false,
    bindings: {
      LARES_ROOT_KEY: rootKey,
      LARES_SIGNING_SECRET: 'YmVuY2gtc2lnbmluZy1zZWNyZXQtb2YtMzItYnl0ZXM',
      LARES_DIGEST_SECRET: 'YmVuY2gtZGlnZXN0LXNlY3JldC1vZi0zMi1ieXRlcyE',
    },
    onRestart() {},
  })
}

async function serve(options: MiniflareOptions, folder: { path: string; remove(): void }): Promise<Edge> {
  const { started: miniflare, pid } = await withPid(async () => {
    const starting = new Miniflare(options)
    await starting.ready
    return starting
  })
  const url = await miniflare.ready
  return {
    url: url.href.replace(/\/$/, ''),
    pid,
    async close() {
      await miniflare.dispose()
      folder.remove()
    },
  }
}

/** Starts something and finds the runtime that came with it. */
async function withPid<T>(start: () => Promise<T>): Promise<{ started: T; pid: number }> {
  const before = childrenRunning('workerd').map(({ pid }) => pid)
  const started = await start()
  const pid = childrenRunning('workerd').find((child) => !before.includes(child.pid))?.pid ?? 0
  return { started, pid }
}

async function fleetKey(url: string): Promise<string> {
  const headers = { authorization: `Bearer ${rootKey}`, 'content-type': 'application/json' }
  await fetch(`${url}/v1/fleets/bench`, { method: 'PUT', headers, body: '{}' })
  const made = await fetch(`${url}/v1/fleets/bench/keys`, { method: 'POST', headers, body: '{}' })
  const { key }: { key: string } = await made.json()
  return key
}

function temporary() {
  const path = mkdtempSync(join(tmpdir(), 'lares-bench-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
