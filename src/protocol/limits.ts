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
  /** Bytes of a file sent in one request. */
  smallFileBytes: 16 * MiB,
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
} as const
