// What docs/architecture.md says of the folders of src is what their imports say.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, it } from 'vitest'

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))

/** The first part of a path below src: a folder, or a file of the root. */
function part(file: string): string {
  return file.split('/')[0] ?? ''
}

interface Import {
  from: string
  to: string
  typeOnly: boolean
}

const imports: Import[] = files.flatMap((from) => {
  const found = readFileSync(join('src', from), 'utf8').matchAll(
    /^(?:import|export) (type )?[^'"]*?from '(\.[^']+)'/gm,
  )
  return Array.from(found, ([, type, to = '']) => ({
    from,
    to: normalize(join(dirname(from), to)),
    typeOnly: type !== undefined,
  }))
})

function reached(folder: string): string[] {
  const others = imports.filter(({ from, to }) => part(from) === folder && part(to) !== folder)
  return [...new Set(others.map(({ to }) => part(to)))].sort()
}

it('imports were found', () => {
  expect(imports.length).toBeGreaterThan(100)
})

describe('arrows point one way', () => {
  it('protocol imports nothing of ours', () => {
    expect(reached('protocol')).toEqual([])
  })

  it('snapshot imports only protocol', () => {
    expect(reached('snapshot')).toEqual(['protocol'])
  })

  it('the edge reaches a session through its RPC type alone', () => {
    const toSession = imports.filter(({ from, to }) => part(from) === 'edge' && part(to) === 'session')
    expect(toSession.length).toBeGreaterThan(0)
    expect(toSession.filter(({ to }) => !/^session\/(\w+-)?rpc\.ts$/.test(to))).toEqual([])
  })

  it('catalog, media and auth know nothing of each other', () => {
    for (const folder of ['catalog', 'media', 'auth']) {
      const known = reached(folder)
      expect(known.filter((one) => ['catalog', 'media', 'auth', 'edge'].includes(one))).toEqual([])
    }
  })

  it('the SDK knows the protocol and nothing else', () => {
    expect(reached('client')).toEqual(['protocol'])
  })
})

it('the page names every folder there is', () => {
  const page = readFileSync('docs/architecture.md', 'utf8')
  const folders = new Set(files.map(part).filter((one) => !one.endsWith('.ts')))
  for (const folder of folders) expect(page).toContain(`| \`src/${folder}\` `)
})

it('every link between the documents leads to one that is there', () => {
  for (const page of ['../README.md', ...readdirSync('docs')]) {
    const text = readFileSync(join('docs', page), 'utf8')
    for (const [, to = ''] of text.matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)) {
      expect(() => readFileSync(join('docs', dirname(page), to)), `${page} links to ${to}`).not.toThrow()
    }
  }
})
