import { marked } from 'marked'
import { readChangelog } from './changelog.ts'
import { type Assets, loadAssets } from './docs/assets.ts'
import type { Reply, Route } from './server.ts'

const ASSETS = '/docs/assets'

/** Nothing of the pages comes from, or goes to, any other place. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The reference at /docs, made in the browser from /v1/openapi.json, and the changelog beside it. */
export function docsRoutes(): Route[] {
  const assets = loadAssets(ASSETS)
  const reference = page(
    assets,
    'API reference',
    `<link rel="stylesheet" href="${assets.url('swagger-ui.css')}">
<script src="${assets.url('swagger-ui-bundle.js')}" defer></script>
<script src="${assets.url('start.js')}" defer></script>`,
    `<body>
${FRAME}
<noscript>The reference needs JavaScript. What it shows is <a href="/v1/openapi.json">openapi.json</a>.</noscript>
<div id="reference"></div>
</body>`,
  )
  const changelog = page(
    assets,
    'Changelog',
    '',
    `<body class="written">\n${FRAME}\n<main>\n${marked.parse(readChangelog(), { async: false })}</main>\n</body>`,
  )
  return [
    { path: '/docs', surface: 'plain', bodyLimit: 0, methods: { GET: () => reference } },
    // The address that a server says it listens at is where people look first.
    { path: '/', surface: 'plain', bodyLimit: 0, methods: { GET: () => toReference(302) } },
    { path: '/docs/', surface: 'plain', bodyLimit: 0, methods: { GET: () => toReference(308) } },
    { path: '/docs/changelog', surface: 'plain', bodyLimit: 0, methods: { GET: () => changelog } },
    { path: `${ASSETS}/{version}/{file}`, surface: 'plain', bodyLimit: 0, methods: { GET: assets.serve } },
  ]
}

const toReference = (status: number): Reply => ({ status, headers: { location: '/docs' } })

const FRAME = `<header class="frame">
<strong>Recoup API</strong>
<a href="/docs">Reference</a>
<a href="/docs/changelog">Changelog</a>
<a href="/v1/openapi.json">openapi.json</a>
</header>`

function page(assets: Assets, title: string, head: string, body: string): Reply {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Recoup</title>
<link rel="icon" href="${assets.url('favicon.png')}">
<link rel="stylesheet" href="${assets.url('page.css')}">
${head}
</head>
${body}
</html>
`
  return {
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'content-security-policy': POLICY,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    },
    body: html,
  }
}
