// The edge on your own machine: the Worker that runs on Cloudflare, in the same runtime, with objects, catalog and
// bytes below one folder. For `npm start`, for tests, and for programs that bring their own edge along.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Miniflare } from 'miniflare'
import { startCron } from './cron.ts'
import { LocalError } from './errors.ts'
import { type DataLock, lockData } from './lock.ts'
import { migrate } from './migrate.ts'
import { migrationsPath, workerPath } from './package-root.ts'
import { childrenRunning } from './process.ts'
import { startReaper } from './reaper.ts'
import { loadSecrets, type Secrets } from './secrets.ts'
import { miniflareOptions } from './worker-options.ts'

export { LocalError } from './errors.ts'

export interface LocalOptions {
  /** 0, the default, takes any free port. */
  port?: number
  /** Default 127.0.0.1: only this machine. */
  host?: string
  /** The folder that keeps everything. When absent, a temporary one that `close()` removes. */
  data?: string
  /** The root key for this start. When absent, the one made at the folder's first start. */
  key?: string
  /** Drops the Worker's warnings and errors instead of writing them to stderr. */
  quiet?: boolean
  /** More text bindings for the Worker, or others in place of ours. */
  bindings?: Record<string, string>
}

export interface LocalEdge {
  /** Without a slash at its end. */
  url: string
  /** The root key: makes fleets and keys, and is an API key of the fleet `default`. */
  key: string
  /** The key was made at this start. */
  keyIsNew: boolean
  data: string
  /** Stops serving and gives the data folder free. */
  close(): Promise<void>
}

/**
 * Starts an edge and resolves when it serves. Throws a `LocalError` for what the caller can mend: a port or a data
 * folder in use, a Worker that is not built.
 *
 * @example
 * const edge = await startLocal({ data: '.lares' })
 * await new Lares({ url: edge.url, token: edge.key }).session('demo').ensure()
 * await edge.close()
 */
export async function startLocal(options: LocalOptions = {}): Promise<LocalEdge> {
  const worker = workerPath()
  const folder = openFolder(options.data)
  try {
    const lock = await lockData(folder.path)
    try {
      const secrets = loadSecrets(folder.path, options.key)
      return await serve(options, worker, folder, lock, secrets)
    } catch (error) {
      lock.release()
      throw error
    }
  } catch (error) {
    folder.close()
    throw error
  }
}

async function serve(
  options: LocalOptions,
  worker: string,
  folder: Folder,
  lock: DataLock,
  secrets: Secrets,
): Promise<LocalEdge> {
  const { host = '127.0.0.1', port = 0, quiet = false } = options
  const reaper = startReaper()
  const noteRuntimes = () => {
    const runtimes = childrenRunning('workerd')
    for (const runtime of runtimes) reaper.watch(runtime.pid)
    lock.note(runtimes)
  }
  const miniflare = new Miniflare(
    miniflareOptions({
      host,
      port,
      quiet,
      data: folder.path,
      workerPath: worker,
      bindings: {
        LARES_ROOT_KEY: secrets.rootKey,
        LARES_SIGNING_SECRET: secrets.signingSecret,
        LARES_DIGEST_SECRET: secrets.digestSecret,
        ...embeddings(),
        ...options.bindings,
      },
      onRestart: noteRuntimes,
    }),
  )
  // A process that exits without close(), by a signal or by process.exit, leaves neither lock nor temporary folder.
  const tidy = () => {
    lock.release()
    folder.close()
  }
  process.once('exit', tidy)
  const close = async () => {
    try {
      await miniflare.dispose()
    } finally {
      reaper.stop()
      process.off('exit', tidy)
      tidy()
    }
  }
  try {
    const url = await ready(miniflare, host, port)
    noteRuntimes()
    await migrate(await miniflare.getD1Database('CATALOG'), migrationsPath())
    const stopCron = startCron(miniflare)
    let closed: Promise<void> | undefined
    return {
      url,
      key: secrets.rootKey,
      keyIsNew: secrets.keyIsNew,
      data: folder.path,
      close() {
        stopCron()
        closed ??= close()
        return closed
      },
    }
  } catch (error) {
    // An instance that never got ready throws that same error again while it is disposed of.
    await close().catch(() => {})
    throw error
  }
}

async function ready(miniflare: Miniflare, host: string, port: number): Promise<string> {
  try {
    const url = await miniflare.ready
    return url.href.replace(/\/$/, '')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_ADDRESS_IN_USE') {
      throw new LocalError(
        `Port ${port} on ${host} is taken. Stop what listens there, or choose another with --port.`,
      )
    }
    throw error
  }
}

interface Folder {
  path: string
  /** Removes it when it was temporary. */
  close(): void
}

function openFolder(data: string | undefined): Folder {
  if (data === undefined) {
    const path = mkdtempSync(join(tmpdir(), 'lares-'))
    return { path, close: () => rmSync(path, { recursive: true, force: true }) }
  }
  const path = resolve(data)
  try {
    // Only for its owner: it holds the key and everything that agents keep.
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new LocalError(`${path} cannot be made: ${error instanceof Error ? error.message : error}`)
  }
  return { path, close() {} }
}

/** A server that makes vectors, if the environment names one. */
function embeddings(): Record<string, string> {
  const named = ['LARES_EMBEDDINGS_URL', 'LARES_EMBEDDINGS_KEY'].map((name) => [
    name,
    process.env[name] ?? '',
  ])
  return Object.fromEntries(named.filter(([, value]) => value !== ''))
}
