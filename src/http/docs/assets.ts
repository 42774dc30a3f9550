import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { fail } from '../../errors.ts'
import { takesGzip } from '../gzip.ts'
import type { Reply, Request } from '../server.ts'

const compress = promisify(gzip)
const { resolve } = createRequire(import.meta.url)
const own = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const viewer = (name: string) => resolve(`swagger-ui-dist/${name}`)

const FILES: Record<string, [type: string, path: string]> = {
  'swagger-ui.css': ['text/css; charset=utf-8', viewer('swagger-ui.css')],
  'swagger-ui-bundle.js': ['text/javascript; charset=utf-8', viewer('swagger-ui-bundle.js')],
  'favicon.png': ['image/png', viewer('favicon-32x32.png')],
  'page.css': ['text/css; charset=utf-8', own('page.css')],
  'start.js': ['text/javascript; charset=utf-8', own('start.js')],
}

export interface Assets {
  /** The URL of a file; it changes with any of them, so that browsers may keep them for ever. */
  url(name: string): string
  /** Answers `{version}/{file}`. */
  serve(request: Request): Promise<Reply>
}

export function loadAssets(folder: string): Assets {
  const content = new Map(Object.entries(FILES).map(([name, [, path]]) => [name, readFileSync(path)]))
  const digest = createHash('sha256')
  for (const bytes of content.values()) digest.update(bytes)
  const version = digest.digest('hex').slice(0, 12)
  const compressed = new Map<string, Promise<Buffer>>()

  return {
    url: (name) => `${folder}/${version}/${name}`,
    async serve(request) {
      const { params } = request
      const name = params.file ?? ''
      const [type] = FILES[name] ?? []
      const bytes = content.get(name)
      if (!type || !bytes || params.version !== version)
        throw fail('not_found', 'There is nothing at this path.')
      const headers: Record<string, string> = {
        'content-type': type,
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        vary: 'accept-encoding',
      }
      if (type.startsWith('image/') || !takesGzip(request.header('accept-encoding')))
        return { status: 200, headers, body: bytes }
      const once = compressed.get(name) ?? compress(bytes)
      compressed.set(name, once)
      return { status: 200, headers: { ...headers, 'content-encoding': 'gzip' }, body: await once }
    },
  }
}
