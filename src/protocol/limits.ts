// Every number a client can run into, in one place: the SDK, the edge and the object read the same ones.

const KiB = 1024
const MiB = 1024 * KiB

export const limits = {
  /** Bytes of a state key (UTF-8). */
  keyBytes: 512,
  /** Bytes of a file path (UTF-8). */
  pathBytes: 1024,
  /** Nesting of arrays and objects in one value. */
  depth: 100,
  /** Bytes of one value in canonical form; more than that is a file. */
  valueBytes: 16 * MiB,
  /** A value above this goes to R2 by itself and comes back inline. */
  inlineBytes: 256 * KiB,
  /** Bytes of one commit, all values together. */
  commitBytes: 24 * MiB,
  /** Operations of one commit. */
  ops: 1000,
  /** Entries and inputs that one commit may touch, and characters of their names: a folder copied into itself again and again. */
  changes: 120_000,
  changeChars: 24 * MiB,
  /** Bytes of a file that is held in memory whole; a larger one streams. */
  smallFileBytes: 16 * MiB,
  /** Bytes of a file sent in one request, if the way there lets as much pass; a larger one comes in parts. */
  requestFileBytes: 5 * 1024 * MiB,
  /** A blob up to this rides in the object first, in the commit that names it. */
  inlineBlobBytes: 32 * KiB,
  /** A blob of an archive up to this shares an object in R2 with others. */
  packedBlobBytes: 256 * KiB,
  /** Blobs of one archive. */
  archiveBlobs: 100_000,
  /** Bytes of one part of an upload, at least; all parts are equal but the last. */
  partBytes: 8 * MiB,
  /** Parts of one upload, and bytes of one blob: what R2 takes. */
  parts: 10_000,
  blobBytes: 5 * 1024 * 1024 * MiB,
  /** Items of a page; a larger `limit` is clamped to it. */
  page: 1000,
  pageDefault: 100,
  /** A page ends early, with a cursor, once its items hold this many bytes. */
  pageBytes: 8 * MiB,
  /** Characters of an `Idempotency-Key`. */
  idempotencyKey: 255,
  /** Characters of an event's type and of its correlation key. */
  eventType: 255,
  eventKey: 512,
  messageChars: 4096,
  causeBytes: 16 * KiB,
  titleChars: 512,
  labels: 64,
  labelChars: 256,
  /** References in one `from`. */
  from: 100,
  /** Seconds a lease may last, and a long-poll may wait. */
  leaseSeconds: 3600,
  waitSeconds: 30,
  holderChars: 255,
  /** Seconds a session may be told to live: ten years. */
  expiresSeconds: 315_360_000,
  /** Bytes of a request whose body is JSON: a commit's values, plus what escaping and names add. */
  jsonBodyBytes: 32 * MiB,
  /** Bytes of file metadata given by the caller. */
  metaBytes: 16 * KiB,
  digestsPerCall: 1000,
  /** Columns of one table, and tables and views of one session. */
  columns: 64,
  tables: 200,
  /** Rows of one insert. */
  rows: 100_000,
  /** Bytes of one row in canonical form; larger content is a file, or a media column. */
  rowBytes: MiB,
  /** Bytes of one filter. */
  filterBytes: MiB,
  /** Characters of a computed column's expression. */
  expressionChars: 2000,
  /** Characters of an SQL statement, and bytes of its parameters. */
  sqlChars: 32_000,
  sqlParamBytes: MiB,
  sqlParams: 90,
  /** Rows and bytes of an SQL answer. */
  sqlRows: 10_000,
  sqlRowsDefault: 1000,
  sqlBytes: 8 * MiB,
  /** Loop steps that a query may take at worst, by the database's own plan of it. */
  sqlSteps: 30_000_000,
  /** Rows that a recursive query may make. */
  sqlRecursion: 100_000,
  /** Nodes of a lineage answer, and how far it reaches. */
  lineageNodes: 1000,
  lineageDepth: 100,
  /** Bytes of a memory's text (UTF-8), its tags, and the characters of one of them. */
  memoryBytes: 64 * KiB,
  tags: 64,
  tagChars: 256,
  /** Dimensions of a vector. */
  dimensions: 4096,
  /** Items of one recall, and bytes of its query (UTF-8). */
  recall: 200,
  recallQueryBytes: 16 * KiB,
  /** Characters of an embedding model's name. */
  modelChars: 255,
} as const
