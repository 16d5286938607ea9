// Where bytes lie in R2. One namespace a fleet, so that a fleet's bytes can be counted, moved and removed by prefix.

/** A blob under its SHA-256, lowercase hex: its first choice of a key. The ledger gives another when this one is doomed. */
export function blobKey(fleet: string, sha256: string): string {
  return `fleets/${fleet}/blobs/${sha256}`
}

/** Many small blobs in one object. */
export function packKey(fleet: string, pack: string): string {
  return `fleets/${fleet}/packs/${pack}`
}

/** Bytes whose SHA-256 is known only at their end. R2 cannot rename, so a blob that came so stays there. */
export function uploadKey(fleet: string, upload: string): string {
  return `fleets/${fleet}/uploads/${upload}`
}

/** What the ledger calls a pack; a blob of its own it calls by its SHA-256. */
export function packName(pack: string): string {
  return `pack:${pack}`
}
