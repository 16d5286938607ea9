// If the plugin were dropped from vitest.config.ts, most tests would still pass, in Node, and prove much less.

import { env } from 'cloudflare:workers'
import { expect, it } from 'vitest'

it('these tests run inside workerd, with the real bindings', () => {
  expect(navigator.userAgent).toBe('Cloudflare-Workers')
  expect(Object.keys(env)).toEqual(
    expect.arrayContaining(['SESSION', 'FLEET', 'CATALOG', 'BLOBS', 'LARES_ROOT_KEY', 'TEST_MIGRATIONS']),
  )
})
