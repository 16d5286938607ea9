// What is published: the Worker as one self-contained file, and the libraries with their dependencies left outside.
// Declarations come from tsc (tsconfig.build.json): TypeScript 7 has no JavaScript API for a bundler to use.

import { defineConfig } from 'tsdown'

const common = {
  format: 'esm',
  outDir: 'dist',
  target: 'es2024',
  clean: false,
  dts: false,
  fixedExtension: false,
  hash: false,
  logLevel: 'warn',
} as const

export default defineConfig([
  {
    ...common,
    entry: { worker: 'src/index.ts' },
    platform: 'browser',
    inputOptions: { resolve: { conditionNames: ['workerd', 'worker', 'browser', 'import'] } },
    deps: { alwaysBundle: [/^/], neverBundle: [/^cloudflare:/, /^node:/], onlyBundle: false },
    outputOptions: { codeSplitting: false },
  },
  {
    ...common,
    entry: { index: 'src/client/index.ts', protocol: 'src/protocol/index.ts' },
    platform: 'neutral',
  },
  {
    ...common,
    entry: { local: 'src/local/index.ts' },
    platform: 'node',
  },
])
