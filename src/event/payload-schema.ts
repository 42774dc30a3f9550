import { fail } from '../errors.ts'
import { flawOf } from './payload-schema/check.ts'
import { Check, nothingSeen, pathText, TooMuchWork } from './payload-schema/evaluate.ts'
import { overLimit } from './payload-schema/limits.ts'

/**
 * Payload schemas come from tenants: they are interpreted and never become code, with work that is bounded beforehand.
 * JSON Schema 2020-12, or draft-07 by `$schema`; `format` is an annotation, as the standard has it.
 */

/** Throws `bad_request`, beginning with the path to what is wrong, for a schema that cannot be used. */
export function checkSchema(schema: Record<string, unknown>, path = 'payload_schema'): void {
  const over = overLimit(schema)
  if (over !== null) throw fail('bad_request', `${path} ${over}`)
  const flaw = flawOf(schema)
  if (flaw) throw fail('bad_request', `${path}${flaw.path} ${flaw.message}`)
}

/**
 * What is wrong first with data, such as `data.items[0].price must be a number`; null when it is as a checked schema
 * says. Of both, integers beyond 2^53 are compared with the digits that raw JSON (exact.ts) has of them.
 */
export function validatePayload(schema: object, data: unknown): string | null {
  const check = new Check(schema as Record<string, unknown>)
  try {
    const problem = check.run(check.root, data, null, nothingSeen())
    return problem && `${pathText(problem.path)} ${problem.message()}`
  } catch (error) {
    if (error instanceof TooMuchWork)
      return 'data takes more work to hold against the payload schema than is allowed: make one of them smaller'
    throw error
  }
}
