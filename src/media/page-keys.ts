// Where snapshots lie in R2. A family is a session and all forks that descend from it; it is named by a random id, so that
// a key tells nothing of a session.

export function familyPrefix(fleet: string, family: string): string {
  return `fleets/${fleet}/families/${family}/`
}

export function pageKey(fleet: string, family: string, name: string): string {
  return `${familyPrefix(fleet, family)}pages/${name}`
}

export function manifestKey(fleet: string, family: string, root: string): string {
  return `${familyPrefix(fleet, family)}manifests/${root}`
}
