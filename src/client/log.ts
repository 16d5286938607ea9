// The log: what happened, in order. `seq` orders it; times are only labels.

import type { List, PageOptions } from './list.ts'
import { jsonBody, type ReadOptions, readPage, type Scope, type WriteOptions } from './scope.ts'
import { isList } from './transaction.ts'
import type { AppendedEvent, AppendedEvents, Json, LogEvent, NewEvent } from './types.ts'

export interface LogFilter {
  /** Only events with a greater `seq`. */
  after?: number
  /** Only events with a smaller `seq`. */
  before?: number
  type?: string
  lane?: 'main' | 'inbox'
  /** `active` (default) skips what was reverted; `all` shows it. */
  view?: 'active' | 'all'
}

export interface LogListOptions extends LogFilter, PageOptions {
  order?: 'asc' | 'desc'
}

export interface LogWaitOptions extends LogFilter, ReadOptions {
  /** Seconds, at most 30 (the default). */
  wait?: number
  limit?: number
}

/** The log as it is read: at the head, or at a point of history. */
export class LogReader {
  protected readonly scope: Scope

  constructor(scope: Scope) {
    this.scope = scope
  }

  /** Events in order of `seq`. */
  list<P = Json>({
    after,
    before,
    order,
    type,
    lane,
    view,
    ...page
  }: LogListOptions = {}): List<LogEvent<P>> {
    return this.scope.list('/log', { after, before, order, type, lane, view }, page)
  }

  /**
   * One event.
   *
   * @throws {LaresError} `not_found`, or `gone` when it was erased
   */
  get<P = Json>(seq: number, options: ReadOptions = {}): Promise<LogEvent<P>> {
    return this.scope.json(`/log/${seq}`, options)
  }

  /** Tool calls that have no result yet: what an agent that wakes up still owes. */
  pending<P = Json>(options: PageOptions = {}): List<LogEvent<P>> {
    return this.scope.list('/log/pending', {}, options)
  }
}

/** The log of a session: `session.log`. */
export class Log extends LogReader {
  /**
   * Appends one event, or several in one commit.
   *
   * @throws {LaresError} `fenced`, `invalid`, `exists` (the correlation key is taken; has its `seq`), `unknown_call`
   * @example await session.log.append({ type: 'tool_call', payload: { id: 'c1', name: 'ls', input: {} } })
   */
  append(event: NewEvent, options?: WriteOptions): Promise<AppendedEvent>
  append(events: readonly NewEvent[], options?: WriteOptions): Promise<AppendedEvents>
  async append(
    what: NewEvent | readonly NewEvent[],
    options: WriteOptions = {},
  ): Promise<AppendedEvent | AppendedEvents> {
    const events = isList(what) ? what : [what]
    const call = { method: 'POST' as const, ...jsonBody({ events }), read: readAppended }
    const answer = await this.scope.write('/log', call, options)
    if (isList(what)) return answer
    const [only] = answer.events
    if (only === undefined) throw new TypeError('the answer to an append names no event')
    return only
  }

  /**
   * Events after `after`; when there are none, waits for some, up to `wait` seconds. Empty when none came.
   *
   * @example
   * let seen = 0
   * for (;;) for (const event of await session.log.wait({ after: seen, lane: 'inbox' })) seen = handle(event)
   */
  async wait<P = Json>({ wait = 30, signal, ...query }: LogWaitOptions = {}): Promise<LogEvent<P>[]> {
    const read = readPage<LogEvent<P>>
    const page = await this.scope.read('/log', {
      query: { ...query, wait },
      patience_ms: wait * 1000,
      signal,
      read,
    })
    return page.items
  }
}

async function readAppended(response: Response): Promise<AppendedEvents> {
  // What the contract says it is.
  return (await response.json()) as AppendedEvents
}
