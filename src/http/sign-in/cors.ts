import type { Reply } from '../reply.ts'
import type { Handler } from '../server.ts'

/** Pages of any site may call what takes no cookies. */
export const openly = (reply: Reply): Reply => ({
  ...reply,
  headers: {
    ...reply.headers,
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'WWW-Authenticate',
  },
})

export const PREFLIGHT: Handler = () => ({
  status: 204,
  headers: {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, POST',
    'access-control-allow-headers': 'Authorization, Content-Type, MCP-Protocol-Version',
    'access-control-max-age': '86400',
  },
})
