import { fail } from '../../errors.ts'
import type { Request } from '../server.ts'

/** Of a form that a page of ours sends. */
export const FORM_BYTES = 16 * 1024

/** The fields of a form; a field that is not there is empty. */
export function formOf(request: Request): { get(name: string): string } {
  const type = request.header('content-type') ?? ''
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type))
    throw fail('unsupported_media_type', 'Content-Type must be application/x-www-form-urlencoded')
  const fields = new URLSearchParams(request.body.toString())
  return { get: (name) => fields.get(name) ?? '' }
}
