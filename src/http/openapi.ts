import { createHash } from 'node:crypto'
import type { Op } from '../op.ts'
import { interfaceVersion } from './changelog.ts'
import { type Origins, openapiDocument } from './openapi/document.ts'
import type { Request, Route } from './server.ts'

/** The document as the file that is linted and served. */
export const openapiText = (ops: readonly Op[], origins: Origins): string =>
  `${JSON.stringify(openapiDocument(ops, origins, interfaceVersion()), null, 2)}\n`

/** GET /v1/openapi.json. Needs no credential, and pages of other origins may read it. */
export function openapiRoutes(ops: readonly Op[], origins: Origins): Route[] {
  const body = Buffer.from(openapiText(ops, origins))
  const headers = {
    'content-type': 'application/json',
    'cache-control': 'public, max-age=300',
    'access-control-allow-origin': '*',
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`,
  }
  const isFresh = (request: Request) => hasTag(request.header('if-none-match'), headers.etag)
  return [
    {
      path: '/v1/openapi.json',
      surface: 'plain',
      bodyLimit: 0,
      methods: {
        GET: (request) => (isFresh(request) ? { status: 304, headers } : { status: 200, headers, body }),
      },
    },
  ]
}

/** Whether an If-None-Match header names the tag; a proxy may have made it a weak one. */
export const hasTag = (header = '', tag: string): boolean =>
  header.split(',').some((one) => one.trim().replace(/^W\//, '') === tag || one.trim() === '*')
