import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Limits } from '../access/limits.ts'
import type { Origins } from '../access/origin.ts'
import { CHECKOUT } from '../config.ts'
import { takesGzip } from './gzip.ts'
import { hasTag } from './openapi.ts'
import type { Reply } from './reply.ts'
import type { Request } from './request.ts'
import type { Route } from './route.ts'

/** Of pages that do not say where they are. */
const ANY_SHOP = 'pixel'
/** Pages get a new pixel within the hour; until then most of them ask nothing. */
const KEPT_SECONDS = 3_600

/** The pixel without comments, indentation and blanks around operators. */
export function pixelText(): string {
  const source = readFileSync(join(CHECKOUT, 'web/pixel/pixel.js'), 'utf8')
  const lines = source.split('\n').map((line) => line.trim())
  const code = lines.filter((line) => line !== '' && !/^(\/\/|\/\*\*.*\*\/$)/.test(line)).join('\n')
  return code.replace(/ ([=!<>&|?:+*^-]{1,3}) /g, '$1')
}

export interface PixelServing {
  origins: Pick<Origins, 'find'>
  /** Counts a request of a shop's page by the client's address; throws `rate_limited`. */
  limit?: Limits['collect']
}

/** The collect host: GET /cdp/pixel.js, the script that pages of shops include. */
export function pixelRoutes({ origins, limit }: PixelServing): Route[] {
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
    // Of a script that they may not read pages see no errors, and check no hash. It is the same for everyone.
    'access-control-allow-origin': '*',
    // Pages that isolate themselves include only what allows it.
    'cross-origin-resource-policy': 'cross-origin',
  }
  const serve = async (request: Request): Promise<Reply> => {
    limit?.(await shopOf(request, origins), request.address)
    if (hasTag(request.header('if-none-match'), tag)) return { status: 304, headers }
    return takesGzip(request.header('accept-encoding'))
      ? { status: 200, headers: { ...headers, 'content-encoding': 'gzip' }, body: packed }
      : { status: 200, headers, body: plain }
  }
  return [{ path: '/cdp/pixel.js', surface: 'collect', bodyLimit: 0, methods: { GET: serve } }]
}

/** Whose page asks: browsers name its origin in Referer when they load a script from elsewhere. */
async function shopOf(request: Request, origins: PixelServing['origins']): Promise<string> {
  const referer = request.header('referer') ?? ''
  if (!URL.canParse(referer)) return ANY_SHOP
  try {
    return (await origins.find(new URL(referer).origin))?.scope ?? ANY_SHOP
  } catch {
    // The script is worth more than its count.
    return ANY_SHOP
  }
}
