// `/docs`: the API in a browser. One page of ours with nothing fetched from elsewhere, so that it works offline and no one
// else's script ever runs where a key is typed in.

import { hashes } from '../crypto.ts'
import { script } from './docs-page/script.ts'
import { style } from './docs-page/style.ts'

export const docsPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Lares API</title>
<style>${style}</style>
</head>
<body>
<a class="skip" href="#main">To the content</a>
<header>
<h1>Lares API</h1>
<p><a href="/openapi.json">openapi.json</a></p>
<label>Key <input id="key" type="password" autocomplete="off" spellcheck="false" placeholder="to try requests; not kept"></label>
</header>
<div class="layout">
<nav aria-label="Resources">
<label>Find <input id="find" type="search" autocomplete="off"></label>
<ul id="nav"></ul>
</nav>
<main id="main" tabindex="-1"><p>Reading the description of the API …</p><noscript><p>This page needs JavaScript; <a href="/openapi.json">openapi.json</a> does not.</p></noscript></main>
</div>
<script>${script}</script>
</body>
</html>
`

/** Lets this page's own script and style run and nothing else, and lets it talk to this edge alone. */
export function docsHeaders(): Record<string, string> {
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ]
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  }
}

function hashOf(text: string): string {
  return `'sha256-${Buffer.from(hashes.sha256(text)).toString('base64')}'`
}
