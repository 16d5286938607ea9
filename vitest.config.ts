// Two kinds of test. Most run inside workerd, next to the code they test, with real objects, D1 and R2. Files
// named *.node.test.ts run in plain Node: they see the edge as its users do, over HTTP, and may kill it.

import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'

const timeouts = { testTimeout: 180_000, hookTimeout: 120_000, teardownTimeout: 20_000 }

export default defineConfig({
  test: {
    projects: [
      {
        plugins: [
          cloudflareTest(async () => ({
            wrangler: { configPath: './wrangler.toml' },
            miniflare: {
              bindings: {
                LARES_ROOT_KEY: 'test-root-key',
                LARES_SIGNING_SECRET: 'dGVzdC1zaWduaW5nLXNlY3JldC0zMi1ieXRlcy1sb25n',
                LARES_DIGEST_SECRET: 'dGVzdC1kaWdlc3Qtc2VjcmV0LTMyLWJ5dGVzLWxvbmch',
                // The long run of the tests that try many things at random.
                TEST_RUNS: process.env.LARES_TEST_RUNS ?? '',
                CI: process.env.CI ?? '',
                TEST_MIGRATIONS: await readD1Migrations('./migrations'),
              },
            },
          })),
        ],
        test: {
          name: 'workerd',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.node.test.ts'],
          setupFiles: ['./test/support/migrate.ts'],
          // One runtime for all files: starting one per file costs more than most files take.
          isolate: false,
          maxWorkers: 1,
          sequence: { groupOrder: 0 },
          ...timeouts,
        },
      },
      {
        test: {
          name: 'node',
          environment: 'node',
          include: ['test/**/*.node.test.ts'],
          // Each of these starts a whole edge, and the machine that runs them may have two cores.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          ...timeouts,
        },
      },
    ],
  },
})
