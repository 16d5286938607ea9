// Gives the tests inside workerd a D1 with the real schema, once a file. `reset()` wipes D1 too: a test that uses
// it calls `migrate()` afterwards.

import { applyD1Migrations } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { beforeAll } from 'vitest'

/** Applies every migration that the catalog does not have yet. */
export async function migrate(): Promise<void> {
  await applyD1Migrations(env.CATALOG, env.TEST_MIGRATIONS)
}

beforeAll(migrate)

// Where a change is judged, it must not fail by the luck of the draw: there the same histories are tried each time. Everywhere
// else each run tries others.
if (env.CI) fc.configureGlobal({ seed: 20_261_201 })
