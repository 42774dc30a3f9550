import { isSameOrigin } from '../../access/sign-in/same-origin.ts'
import { fail } from '../../errors.ts'
import { asFailure, type Reply } from '../reply.ts'
import type { Handler, Request } from '../server.ts'
import { errorPage } from './pages.ts'

/** A handler whose failures are shown to a person. */
export const shown =
  (handler: Handler): Handler =>
  async (request) => {
    try {
      return await handler(request)
    } catch (error) {
      const failure = asFailure(error, request.requestId)
      const title = failure.status >= 500 ? 'That did not work' : 'This cannot be done'
      const reply = errorPage(failure.status, title, failure.message)
      return { ...reply, headers: { ...reply.headers, ...failure.headers } }
    }
  }

/** Refuses a form that another site's page sent. */
export function checkOrigin(request: Request, origin: string): void {
  if (isSameOrigin(request, origin)) return
  throw fail('forbidden', `This form has to be sent from a page of ${origin}`)
}

export const redirect = (location: string, cookies: readonly string[] = []): Reply => ({
  status: 303,
  headers: {
    location,
    'cache-control': 'no-store',
    ...(cookies.length > 0 && { 'set-cookie': [...cookies] }),
  },
})
