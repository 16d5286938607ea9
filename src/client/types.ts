// The shapes of requests and answers, as the schemas of src/protocol give them: one source, told in the words of the API.
// Types only, so that no schema library comes along.

import type { z } from 'zod'
import type { Json } from '../protocol/canonical.ts'
import type {
  memoryBody,
  memoryPatch,
  memorySettings,
  memoryShown,
  memoryState,
  recallShown,
} from '../protocol/memory.ts'
import type { OperationInput } from '../protocol/ops.ts'
import type {
  commitListed,
  commitShown,
  eventAppended,
  eventShown,
  fileShown,
  leaseShown,
  SessionCreate,
  SessionListed,
  SessionPatch,
  SessionShown,
  stateShown,
} from '../protocol/resources.ts'
import type {
  ColumnType,
  lineageShown,
  rowShown,
  rowsWritten,
  sqlShown,
  tableShown,
  viewShown,
} from '../protocol/tables.ts'
import type {
  conflictShown,
  differenceShown,
  entryKinds,
  snapshotObjectShown,
  snapshotShown,
  verifiedShown,
} from '../protocol/time.ts'

export type { Filter } from '../protocol/filter.ts'

export type TableShown = z.output<typeof tableShown>
/** A row: its columns, with `$key`, `$since`, and `$cells` where computed cells are not simply there. */
export type Row = z.output<typeof rowShown>
export type RowsWritten = Pick<z.output<typeof rowsWritten>, 'count' | 'keys'>
export type ViewShown = z.output<typeof viewShown>
export type SqlAnswer = z.output<typeof sqlShown>
export type LineageShown = z.output<typeof lineageShown>

/** A column: its type alone, or with what else is said of it. */
export type ColumnDefinition =
  | ColumnType
  | {
      type: ColumnType
      required?: boolean
      default?: unknown
      unique?: boolean
      index?: boolean
      schema?: object
      computed?:
        | string
        | {
            embed: string | string[]
            provider?: 'static' | 'workers-ai' | 'openai-compatible'
            model?: string
          }
        | { endpoint: string; inputs: string[] }
    }
export interface TableDefinition {
  columns: Record<string, ColumnDefinition>
  /** The column that names the row. */
  key?: string
}
export interface TableChanges {
  rename?: Record<string, string>
  drop?: readonly string[]
  add?: Record<string, ColumnDefinition>
  change?: Record<string, ColumnDefinition>
}

export type SnapshotShown = z.output<typeof snapshotShown>
export type SnapshotObject = z.output<typeof snapshotObjectShown>
export type Difference = z.output<typeof differenceShown>
export type Verified = z.output<typeof verifiedShown>
export type Conflict = z.output<typeof conflictShown>
export type EntryKind = (typeof entryKinds)[number]

export type { Json, SessionCreate, SessionListed, SessionPatch, SessionShown }

/** An operation of a commit. Values are checked when they are sent, so any type may be handed in. */
export type Op = OpenValues<OperationInput>

type OpenValues<T> = T extends unknown
  ? {
      [K in keyof T]: K extends
        | 'value'
        | 'payload'
        | 'patch'
        | 'meta'
        | 'rows'
        | 'set'
        | 'where'
        | 'columns'
        | 'add'
        | 'change'
        ? unknown
        : T[K]
    }
  : never

/** One operation's fields without its name. */
export type OpFields<N extends Op['op'], Without extends PropertyKey = never> = Omit<
  Extract<Op, { op: N }>,
  'op' | Without
>

/** An event to append: `type` is `message` unless given; `key` is its correlation key, unique in the log. */
export type NewEvent = OpFields<'log.append'>

/** A condition on one operation: the entry was written by that version, or there is none. */
export type Condition = NonNullable<OpFields<'state.set'>['if']>

/** What was written: the commit's version, its time and the chain's digest after it. */
export type Committed = z.output<typeof commitShown>

/** A commit as history and the tail show it. */
export type Commit = z.output<typeof commitListed>

/** What a commit did to one thing. `digest` is null where it took the value away. */
export interface Change<T = Json> {
  op: string
  /** `log:SEQ`, `state:KEY`, `file:PATH` … */
  ref: string
  digest: string | null
  /** Absent when there is none, when it was erased, and in the tail when it is large: read it at that version. */
  value?: T
  /** Hex. With the value's canonical form it gives `digest`. */
  salt?: string
  /** What it was made from. */
  from?: string[]
}

/** A commit with what it changed. */
export type CommitChanges = Omit<Commit, 'ops'> & { ops: Change[] }

/** A commit with everything that its digest covers: `previous` is the digest before it. */
export type CommitInFull = CommitChanges & { previous: string }

export type LogEvent<P = Json> = Omit<z.output<typeof eventShown>, 'payload'> & { payload: P }
export type AppendedEvent = z.output<typeof eventAppended>

/** Several events, appended in one commit. */
export interface AppendedEvents {
  version: number
  at: string
  digest: string
  events: AppendedEvent[]
}

export type StateItem<T = Json> = Omit<z.output<typeof stateShown>, 'value'> & { value: T }

export type FileInfo = z.output<typeof fileShown>
export type FileMode = FileInfo['mode']

/** What a delimiter rolls up: every path that begins so. */
export interface Prefix {
  prefix: string
}

export type LeaseInfo = z.output<typeof leaseShown>

export type Memory = z.output<typeof memoryShown>
/** `meta` may be any plain object; `vector` numbers, `expires_at` RFC 3339. */
export type MemoryFields = WithMeta<z.input<typeof memoryBody>>
/** What is not named stays. */
export type MemoryPatch = WithMeta<z.input<typeof memoryPatch>>
type WithMeta<T> = Omit<T, 'meta'> & { meta?: Record<string, unknown> | undefined }

export type RecallAnswer = z.output<typeof recallShown>
export type MemorySettings = z.input<typeof memorySettings>
export type MemoryState = z.output<typeof memoryState>
