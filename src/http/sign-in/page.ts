import { createHash } from 'node:crypto'
import type { Reply } from '../reply.ts'
import { Html, html } from './html.ts'
import { STYLE } from './style.ts'

export interface Page {
  status?: number
  title: string
  /** Whose page it is; null where that is not known. */
  by?: string | null
  content: Html
  /** Where its forms may lead, beside pages of ours. */
  leadsTo?: readonly string[]
  headers?: Record<string, string | string[]>
}

const style = new Html(STYLE)
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** A page without scripts, which nothing can be added to or framed around. */
export function page({ status = 200, title, by = 'Recoup', content, leadsTo = [], headers }: Page): Reply {
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="robots" content="noindex">
<title>${by === null ? title : `${title} · ${by}`}</title>
<style>${style}</style>
</head>
<body>
<main>
${by !== null && html`<p class="service">${by}</p>`}
${content}
</main>
</body>
</html>
`
  return { status, headers: { ...pageHeaders(leadsTo), ...headers }, body: document.text }
}

const pageHeaders = (leadsTo: readonly string[] = []): Record<string, string> => ({
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    `form-action ${["'self'", ...leadsTo].join(' ')}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // Not "no-referrer": browsers would then hide the Origin of our own forms.
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
})
