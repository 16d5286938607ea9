// What `import { … } from 'lares'` gives.

export type { Archive, ExportOptions, ImportOptions } from './archive.ts'
export type { FileSource } from './bytes.ts'
export type { CommitOptions, Commits, CommitsOptions, Compose } from './commits.ts'
export { type ErrorCode, type ErrorFamily, LaresError, NetworkError } from './errors.ts'
export type { FileBody, FileHead } from './file-body.ts'
export type {
  FileListOptions,
  FilePutOptions,
  Files,
  FilesReader,
  FileWriteOptions,
  FileWritten,
} from './files.ts'
export { Lares, type LaresOptions, type SessionListOptions, type Sessions } from './lares.ts'
export type { Lease, LeaseGrant, LeaseOptions } from './lease.ts'
export type { List, Page, PageOptions } from './list.ts'
export type { Log, LogFilter, LogListOptions, LogReader, LogWaitOptions } from './log.ts'
export type { Memories, MemoryListOptions, MemoryReader, MemoryWritten, RecallOptions } from './memory.ts'
export type { At } from './paths.ts'
export type { Pushed, PushOptions, TreeEntry } from './push.ts'
export { type LineageOptions, type QueryOptions, rowsOf, type Views } from './query.ts'
export type { RetryOptions } from './retry.ts'
export type { ReadOptions, WriteOptions } from './scope.ts'
export type { Session } from './session.ts'
export type { SnapshotOptions, Snapshots } from './snapshots.ts'
export type { State, StateEntry, StateListOptions, StateReader, StateWriteOptions } from './state.ts'
export type { InsertOptions, RowsQuery, Table, TableReader, Tables, TablesReader } from './tables.ts'
export type { TailItem, TailOptions } from './tail.ts'
export type { DiffOptions, ForkOptions, Merged, MergeOptions, Reverted, RevertOptions } from './time.ts'
export type { FileAttributes, FileTarget, KeyedOptions, Transaction } from './transaction.ts'
export type { TokenSource } from './transport.ts'
export type * from './types.ts'
export type { UploadedBlob, UploadOptions } from './uploads.ts'
export type { View } from './view.ts'
