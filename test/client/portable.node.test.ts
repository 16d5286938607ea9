// The SDK promises to run wherever there is `fetch`. It runs in Node and in Workers by its other tests; here it is kept from
// reaching for anything that a browser does not have.

import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const entry = 'src/client/index.ts'

/** Every file that is loaded with the SDK, and every package. */
function loaded(): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>()
  const packages = new Set<string>()
  const visit = (file: string) => {
    if (files.has(file)) return
    files.add(file)
    // Imports of types alone are erased; so is one whose every name is a type.
    for (const [, names = '', from = ''] of readFileSync(file, 'utf8').matchAll(
      /^(?:import|export)\s+([^'"]*?)from\s+'([^']+)'/gms,
    )) {
      if (names.startsWith('type ') || onlyTypes(names)) continue
      if (from.startsWith('.')) visit(join(dirname(file), from))
      else packages.add(from)
    }
  }
  visit(entry)
  return { files, packages }
}

function onlyTypes(names: string): boolean {
  const listed = /^\{([^}]*)\}\s*$/
    .exec(names)?.[1]
    ?.split(',')
    .map((name) => name.trim())
    .filter(Boolean)
  return listed?.every((name) => name.startsWith('type ')) ?? false
}

test('it loads one package, and nothing of ours but the language', () => {
  const { files, packages } = loaded()
  expect([...packages]).toEqual(['eventsource-parser'])
  const ours = [...files].filter((file) => !file.startsWith('src/client/'))
  expect(ours.every((file) => file.startsWith('src/protocol/'))).toBe(true)
  expect(files.size).toBeGreaterThan(20)
})

test('it names nothing that only one runtime has', () => {
  for (const file of loaded().files) {
    const code = readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    expect(code, file).not.toMatch(
      /\b(Buffer|process|require|__dirname|window|document|Deno|Bun|caches|WebSocketPair)\b/,
    )
  }
})
