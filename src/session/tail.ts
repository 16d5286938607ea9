// The live tail: hibernating WebSockets, one message a commit. A socket is either catching up, fed page by page from the
// journal, or live, fed by each commit as it happens; it becomes live in the same step in which it reads the last commit
// there is, so nothing falls between and nothing comes twice.

import type { EntryKind } from '../protocol/refs.ts'
import { type CommitRow, changesOf, commitColumns, commitHead, entryOfVersion } from './history.ts'
import { valuePiece } from './pieces.ts'
import { type EventRow, eventColumns } from './read-log.ts'
import type { World } from './world.ts'

/** What survives hibernation with a socket. */
interface Attachment {
  /** The last version it was told of while it catches up; null once it is live. */
  seen: number | null
  /** Ids of the credential and of all above it: revoking one closes the socket. */
  chain: string[]
  /** Epoch milliseconds, or null. */
  expires_at: number | null
}

/** Values a message carries; a commit with more leaves the rest to be read. */
const valueCharsPerMessage = 256 * 1024
/** Operations that it names, in characters. */
const opCharsPerMessage = 2 * 1024 * 1024
const commitsPerTurn = 128

/** Close codes, from the range the protocol leaves to applications. */
export const closeCodes = { unauthenticated: 4401, gone: 4410 } as const

export class Tail {
  readonly #context: DurableObjectState
  readonly #world: World

  constructor(context: DurableObjectState, world: World) {
    this.#context = context
    this.#world = world
    context.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong'))
    // Sockets outlive an object that is put to sleep, its timers do not: who was catching up goes on.
    for (const socket of context.getWebSockets()) {
      const { seen } = attached(socket)
      if (seen !== null) setTimeout(() => this.#catchUp(socket, seen), 0)
    }
  }

  /**
   * Accepts a socket that has seen everything up to a version.
   *
   * @param after the last version seen, `head` for none of the past; null for something that is no version
   */
  open(after: number | 'head' | null, chain: string[], expiresAt: number | null): Response {
    const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket]
    this.#context.acceptWebSocket(server)
    const { version } = this.#world.head
    let seen = after === 'head' ? version : after
    const lost = seen === null || seen > version
    if (seen === null || seen > version) seen = version
    attach(server, { seen, chain, expires_at: expiresAt })
    if (lost) {
      server.send(`{"event":"gap","id":${version},"data":{"head":${version}}}`)
    }
    this.#catchUp(server, seen)
    return new Response(null, {
      status: 101,
      webSocket: client,
      headers: { 'lares-version': String(version) },
    })
  }

  /** Tells every live socket of the newest commit. */
  announce(): void {
    const sockets = this.#context.getWebSockets()
    if (sockets.length === 0) return
    const row = this.#rows(this.#world.head.version - 1, 1)[0]
    if (!row) return
    const message = this.#message(row)
    for (const socket of sockets) {
      const attachment = attached(socket)
      if (attachment.seen === null) deliver(socket, attachment, message)
    }
  }

  /** Closes the sockets of revoked credentials. */
  revoke(ids: readonly string[]): void {
    for (const socket of this.#context.getWebSockets()) {
      if (attached(socket).chain.some((id) => ids.includes(id)))
        socket.close(closeCodes.unauthenticated, 'revoked')
    }
  }

  closeAll(reason: string): void {
    for (const socket of this.#context.getWebSockets()) socket.close(closeCodes.gone, reason)
  }

  #catchUp(socket: WebSocket, seen: number): void {
    // The session may have ended since the last turn, and its sockets with it.
    if (this.#world.closed()) return
    const rows = this.#rows(seen, commitsPerTurn)
    for (const row of rows) {
      if (!deliver(socket, attached(socket), this.#message(row))) return
    }
    const last = rows.at(-1)?.version ?? seen
    const caughtUp = last >= this.#world.head.version
    attach(socket, { ...attached(socket), seen: caughtUp ? null : last })
    if (caughtUp) return
    // Another turn, so that a long past does not hold up the session's writers.
    setTimeout(() => this.#catchUp(socket, last), 0)
  }

  #rows(after: number, most: number): CommitRow[] {
    return this.#world.sql
      .exec<CommitRow>(
        `SELECT ${commitColumns} FROM commits WHERE version > ? ORDER BY version LIMIT ?`,
        after,
        most,
      )
      .toArray()
  }

  #message(row: CommitRow): string {
    const { sql } = this.#world
    let room = valueCharsPerMessage
    let opsRoom = opCharsPerMessage
    const ops: string[] = []
    let more = ''
    for (const { op, ref, digest } of changesOf(sql, row)) {
      const text = `{"op":${JSON.stringify(op)},"ref":${JSON.stringify(ref)},"digest":${JSON.stringify(digest)}`
      opsRoom -= text.length
      if (opsRoom < 0) {
        more = ',"ops_more":true'
        break
      }
      const value = digest === null || room <= 0 ? null : inlineValue(sql, ref, row.version)
      const shown = value !== null && value.length <= room ? value : null
      room -= shown?.length ?? 0
      ops.push(`${text}${shown === null ? '' : `,"value":${shown}`}}`)
    }
    return `{"event":"commit","id":${row.version},"data":${commitHead(row)},"ops":[${ops.join(',')}]${more}}}`
  }
}

/** A change's value as the tail shows it: an event's type, payload and names; an entry's value. Null when it is in R2. */
function inlineValue(sql: SqlStorage, ref: string, version: number): string | null {
  const cut = ref.indexOf(':')
  const kind = ref.slice(0, cut)
  const key = ref.slice(cut + 1)
  if (kind !== 'log') {
    // What `formatRef` wrote begins with a kind.
    const entry = entryOfVersion(sql, kind as EntryKind, key, version)
    const value = entry === null ? null : valuePiece(entry)
    return typeof value === 'string' ? value : null
  }
  const event = sql
    .exec<EventRow>(`SELECT ${eventColumns} FROM events WHERE seq = ?`, Number(key))
    .toArray()[0]
  if (!event || event.text === null) return null
  const { type, lane, key: correlation, parent } = event
  const optional =
    (correlation === null ? '' : `,"key":${JSON.stringify(correlation)}`) +
    (parent === null ? '' : `,"parent":${parent}`)
  return `{"type":${JSON.stringify(type)},"lane":"${lane}"${optional},"payload":${event.text}}`
}

/** Sends, unless the credential has run out; answers whether the socket is still good. */
function deliver(socket: WebSocket, attachment: Attachment, message: string): boolean {
  try {
    if (attachment.expires_at !== null && attachment.expires_at <= Date.now()) {
      socket.close(closeCodes.unauthenticated, 'expired')
      return false
    }
    socket.send(message)
    return true
  } catch {
    // The other end is gone; its reader comes back with the last version it saw.
    return false
  }
}

function attach(socket: WebSocket, attachment: Attachment): void {
  socket.serializeAttachment(attachment)
}

function attached(socket: WebSocket): Attachment {
  // Only `attach` writes it.
  return socket.deserializeAttachment() as Attachment
}
