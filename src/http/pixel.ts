import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Limits } from '../access/limits.ts'
import { CHECKOUT } from '../config.ts'
import { hasTag } from './openapi.ts'
import type { Reply } from './reply.ts'
import type { Request } from './request.ts'
import type { Route } from './route.ts'

/** Whose requests these are is not known: a page asks for a script without saying where it is. */
const ANY_SHOP = 'pixel'
/** Pages get a new pixel within the hour; until then most of them ask nothing. */
const KEPT_SECONDS = 3_600

/** The pixel without comments and indentation. */
export function pixelText(): string {
  const source = readFileSync(join(CHECKOUT, 'web/pixel/pixel.js'), 'utf8')
  const lines = source.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '' && !/^(\/\/|\/\*\*.*\*\/$)/.test(line)).join('\n')
}

/** The collect host: GET /cdp/pixel.js, the script that pages of shops include. */
export function pixelRoutes(limit?: Limits['collect']): Route[] {
  const plain = Buffer.from(pixelText())
  const packed = gzipSync(plain, { level: 9 })
  const tag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 27)}"`
  const headers = {
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': `public, max-age=${KEPT_SECONDS}`,
    // Weak, since the two codings are not the same bytes.
    etag: `W/${tag}`,
    vary: 'Accept-Encoding',
    'x-content-type-options': 'nosniff',
    // Pages that isolate themselves include only what allows it.
    'cross-origin-resource-policy': 'cross-origin',
  }
  const serve = (request: Request): Reply => {
    limit?.(ANY_SHOP, request.address)
    if (hasTag(request.header('if-none-match'), tag)) return { status: 304, headers }
    return /\bgzip\b/.test(request.header('accept-encoding') ?? '')
      ? { status: 200, headers: { ...headers, 'content-encoding': 'gzip' }, body: packed }
      : { status: 200, headers, body: plain }
  }
  return [{ path: '/cdp/pixel.js', surface: 'collect', bodyLimit: 0, methods: { GET: serve } }]
}
