// Types what a test imports from `cloudflare:workers` and `cloudflare:test`: the Worker's own bindings, the test's
// on top, and the Worker itself behind `exports.default`.

/// <reference types="@cloudflare/vitest-plugin/types" />

declare namespace Cloudflare {
  interface Env extends LaresEnv {
    /** How often tests that try things at random do so; empty for a few times. */
    TEST_RUNS: string
    /** Set where every change is tested. */
    CI: string
    TEST_MIGRATIONS: import('cloudflare:test').D1Migration[]
  }
  interface GlobalProps {
    mainModule: typeof import('../../src/index.ts')
    durableNamespaces: 'Session' | 'Fleet' | 'Ledger'
  }
}

type LaresEnv = import('../../src/env.ts').Env
