import { exports } from 'cloudflare:workers'
import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'

async function page() {
  const response = await exports.default.fetch('https://lares.test/docs')
  return { policy: response.headers.get('content-security-policy') ?? '', html: await response.text() }
}

/** What stands in the page's only element of a name. */
function inside(html: string, name: string): string {
  const parts = html.split(new RegExp(`<${name}>|</${name}>`))
  expect(parts).toHaveLength(3)
  return parts[1] ?? ''
}

it('the policy lets the page’s own script and style run, and nothing else', async () => {
  const { policy, html } = await page()
  const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  expect(policy).toContain(`script-src ${hashOf(inside(html, 'script'))};`)
  expect(policy).toContain(`style-src ${hashOf(inside(html, 'style'))};`)
  expect(policy).toContain("default-src 'none'")
  expect(policy).not.toMatch(/unsafe|https?:/)
})

it('the page fetches nothing from elsewhere and stays below 30 KB', async () => {
  const { html } = await page()
  expect(html).not.toMatch(/https?:\/\/|<link|<img|@import|url\(/)
  expect(html).not.toMatch(/ style=| on[a-z]+=/)
  expect(new TextEncoder().encode(html).length).toBeLessThan(30_000)
})
