// Gives the tests inside workerd a D1 with the real schema, once a file. `reset()` wipes D1 too: a test that uses
// it calls `migrate()` afterwards.

import { applyD1Migrations } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeAll } from 'vitest'

/** Applies every migration that the catalog does not have yet. */
export async function migrate(): Promise<void> {
  await applyD1Migrations(env.CATALOG, env.TEST_MIGRATIONS)
}

beforeAll(migrate)
