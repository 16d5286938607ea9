// The catalog as the rest of Lares sees it: fed by the objects' outboxes, read by the edge.

export * from './batch.ts'
export { type FleetCommit, type FleetCommitQuery, listFleetCommits } from './commits.ts'
export { type ErasedRow, eraseValues } from './erase.ts'
export * from './lost.ts'
export type { Listed } from './page.ts'
export { project, projectSession } from './project.ts'
export { removeSession } from './remove.ts'
export { listSessions, type SessionOrder, type SessionQuery } from './sessions.ts'
export * from './snapshots.ts'
export type { Visible } from './visible.ts'
