import type { Handler, Request } from '../server.ts'

/** Pages of any site may call what takes no cookies, and read its answer, a refusal as well. */
export function openly(request: Pick<Request, 'answerWith'>): void {
  request.answerWith('access-control-allow-origin', '*')
  request.answerWith('access-control-expose-headers', 'WWW-Authenticate, Retry-After')
}

export const PREFLIGHT: Handler = () => ({
  status: 204,
  headers: {
    'access-control-allow-methods': 'GET, POST',
    'access-control-allow-headers': 'Authorization, Content-Type, MCP-Protocol-Version',
    'access-control-max-age': '86400',
  },
})
