// What the platform hands to the Worker and to every object. One place, so that a new binding is one line.

import type { Fleet } from './auth/fleet.ts'
import type { AiBinding } from './embed/workers-ai.ts'
import type { Ledger } from './media/ledger.ts'
import type { Session } from './session/session.ts'

export interface Env {
  /** One object a session: `idFromName(fleet + '/' + session)`. */
  SESSION: DurableObjectNamespace<Session>
  /** One object a fleet: its API keys (hashed) and its revocations. */
  FLEET: DurableObjectNamespace<Fleet>
  /** The fleet's catalog and history; nothing that must answer waits for it. */
  CATALOG: D1Database
  /** Sixteen objects a fleet: which R2 objects there are, and who holds each. */
  LEDGER: DurableObjectNamespace<Ledger>
  /** Blobs, packs and uploads; docs/bytes.md says under which keys. */
  BLOBS: R2Bucket
  /** The operator's key: makes fleets and their keys; in the fleet `default` it is an API key too. */
  LARES_ROOT_KEY: string
  /** Signs session tokens and API keys. May be replaced: what it signed is then void. */
  LARES_SIGNING_SECRET: string
  /** Root of every fleet's salt key. Never replaced: equal values of a fleet would stop having equal digests. */
  LARES_DIGEST_SECRET: string
  /** The platform's models, for memory whose provider is `workers-ai`. */
  AI?: AiBinding
  /** Of a server that speaks `POST …/embeddings`, for memory whose provider is `openai-compatible`: its address and its key. */
  LARES_EMBEDDINGS_URL?: string
  LARES_EMBEDDINGS_KEY?: string
}
