// Whole worlds, carried away and brought in: an archive streams through, and is never held.

import type { At } from './paths.ts'
import { type ReadOptions, readJson, type Scope, type WriteOptions } from './scope.ts'
import type { Transport } from './transport.ts'
import type { SessionShown } from './types.ts'

export interface ExportOptions extends ReadOptions {
  /** The world at this point; at the head when absent. */
  at?: At | undefined
  /** With every commit and every earlier value. Default false. */
  journal?: boolean | undefined
}

export interface ImportOptions extends WriteOptions {
  /** What the session is to be called. */
  session: string
}

/** An archive: a stream can be sent once, the others are sent again when the way there fails. */
export type Archive = ReadableStream<Uint8Array> | Blob | Uint8Array<ArrayBuffer>

/** A world of many gigabytes may take this long. */
const patience = { total_ms: 24 * 3600 * 1000, try_ms: 24 * 3600 * 1000 }

export function exportArchive(
  scope: Scope,
  { at, journal, signal }: ExportOptions,
): Promise<ReadableStream<Uint8Array>> {
  const read = (response: Response) => response.body ?? new Blob([]).stream()
  const from = at === undefined ? scope : scope.with({ at })
  return from.read('/export', { query: { journal }, signal, open: true, read })
}

export async function importArchive(
  transport: Transport,
  archive: Archive,
  { session, idempotency_key, signal }: ImportOptions,
): Promise<string> {
  const retry = archive instanceof ReadableStream ? { ...patience, tries: 1 } : patience
  const imported = await transport.call({
    method: 'POST',
    path: '/v1/import',
    query: { session },
    headers: {
      'content-type': 'application/x-tar',
      'idempotency-key': idempotency_key ?? crypto.randomUUID(),
    },
    body: archive,
    signal,
    retry,
    read: readJson<SessionShown>,
  })
  return imported.session
}
