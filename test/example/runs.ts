// The runs that are played: ours, and real ones where they are at hand.

import { existsSync } from 'node:fs'

export interface RunFile {
  /** For a test's name; says so when the run is skipped. */
  name: string
  /** Null when it is not there. */
  file: string | null
}

const real = ['ctf-networking', 'marshmallow-1867', 'pydicom-1458'].map((name): RunFile => {
  const file = `../shared/data/trajectories/${name}.traj.json`
  return existsSync(file) ? { name, file } : { name: `${name} (skipped: ${file} is not here)`, file: null }
})

export const runs: RunFile[] = [
  { name: 'hello', file: 'examples/durable-agent/runs/hello.traj.json' },
  ...real,
]
