import { fail } from '../../errors.ts'
import { parsePath } from '../../event/singular-path.ts'

/** Where in `data` the event says which entity it is about, and whom to contact. */
export interface Mappings {
  external_id_path: string
  email_path?: string
  phone_path?: string
}

/** Throws `bad_request` that names the path that is wrong. */
export function checkMappings(mappings: Mappings): void {
  if (mappings.email_path === undefined && mappings.phone_path === undefined)
    throw fail('bad_request', 'identifier_mappings must have email_path, phone_path or both')
  for (const [name, path] of Object.entries(mappings)) {
    const segments = parsePath(path)
    if ('problem' in segments) throw fail('bad_request', `identifier_mappings.${name} ${segments.problem}`)
  }
}
