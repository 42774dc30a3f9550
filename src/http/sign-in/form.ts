import { fail } from '../../errors.ts'
import { textProblem } from '../json.ts'
import type { Request } from '../server.ts'

/** Of a form that a page of ours sends. */
export const FORM_BYTES = 16 * 1024

/** The fields of a form; a field that is not there is empty. Throws a 400 for one that no column could hold. */
export function formOf(request: Request): { get(name: string): string } {
  const type = request.header('content-type') ?? ''
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type))
    throw fail('unsupported_media_type', 'Content-Type must be application/x-www-form-urlencoded')
  const fields = new URLSearchParams(request.body.toString())
  for (const [name, value] of fields) {
    const problem = textProblem(value)
    if (problem) throw fail('bad_request', `${name} ${problem}`)
  }
  return { get: (name) => fields.get(name) ?? '' }
}
