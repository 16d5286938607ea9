// Where bytes lie in R2. One namespace a fleet, so that a fleet's bytes can be counted, moved and removed by prefix.

/** A blob under its SHA-256, lowercase hex. */
export function blobKey(fleet: string, sha256: string): string {
  return `fleets/${fleet}/blobs/${sha256}`
}
