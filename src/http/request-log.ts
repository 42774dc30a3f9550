import { isLogged, log } from '../log.ts'
import type { HttpRequest } from './request.ts'
import type { ServedRoute } from './route.ts'
import type { Match } from './router.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The log line of a finished request. The collect host's successes are too many for `info`. */
export function logRequest(
  request: HttpRequest,
  match: Match<ServedRoute> | undefined,
  { status, bytes, began }: { status: number; bytes: number; began: number },
): void {
  const level = match?.route.surface === 'collect' && status < 400 ? 'debug' : 'info'
  if (!isLogged(level)) return
  log(level, 'request', {
    method: request.method,
    path: loggedPath(request.path, match),
    status,
    ms: Math.round((performance.now() - began) * 10) / 10,
    request_id: request.requestId,
    bytes,
  })
}

/** A path can hold an email or phone: of the values in it only UUIDs are shown, of an unknown path the beginning. */
function loggedPath(path: string, match: Match<ServedRoute> | undefined): string {
  if (!match) return path.length <= 64 && /^(\/[\w.-]*){1,2}$/.test(path) ? path : '(unknown)'
  const { route, values } = match
  if (values.length === 0) return path
  let at = 0
  return route.path.replace(/\{\w+\}/g, (name) => {
    const value = values[at++] ?? ''
    return UUID.test(value) ? value : name
  })
}
