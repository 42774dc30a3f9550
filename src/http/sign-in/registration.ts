import { API_SCOPES, PROTOCOL_SCOPES } from '../../access/sign-in/provider.ts'
import { isObject } from '../../event/exact.ts'
import type { Request } from '../server.ts'

/** What a client may say of itself. Nothing that we would have to fetch. */
const KEPT = [
  'redirect_uris',
  'client_name',
  'client_uri',
  'logo_uri',
  'contacts',
  'tos_uri',
  'policy_uri',
  'application_type',
  'token_endpoint_auth_method',
]

/** Lists of which clients name all that they know; what we do not know is left out, as the protocol allows. */
const KNOWN = {
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  scope: [...API_SCOPES, ...PROTOCOL_SCOPES],
}

/** The body of a registration without what would have it refused or is of no use. */
export function registrationBody({ body }: Request): Buffer {
  const sent = parsed(body)
  if (!sent) return body
  // Said here too, since a secret is made before defaults are looked at.
  const kept: Record<string, unknown> = { token_endpoint_auth_method: 'none' }
  for (const name of KEPT) if (sent[name] !== undefined && sent[name] !== null) kept[name] = sent[name]
  for (const name of ['grant_types', 'response_types'] as const) {
    const values = sent[name]
    if (Array.isArray(values)) kept[name] = KNOWN[name].filter((one) => values.includes(one))
    if (Array.isArray(values) && (kept[name] as string[]).length === 0) kept[name] = values
  }
  if (typeof sent.scope === 'string') {
    const scopes = sent.scope.split(' ').filter((scope) => KNOWN.scope.includes(scope))
    if (scopes.length > 0) kept.scope = scopes.join(' ')
  }
  return Buffer.from(JSON.stringify(kept))
}

function parsed(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString())
    return isObject(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}
