import { fail } from '../errors.ts'

/** Scopes that an API key can carry. `keys:manage` is for sign-ins only. */
export const KEY_SCOPES = [
  'brand:read',
  'campaigns:read',
  'campaigns:write',
  'commerce:read',
  'contacts:read',
  'conversations:read',
  'customers:read',
  'insights:read',
  'integrations:read',
  'providers:read',
  'providers:write',
  'segments:read',
  'segments:write',
  'stats:read',
] as const

/** The scopes without repetition; throws a 400 that names the first one that a key cannot carry. */
export function keyScopes(scopes: readonly string[]): string[] {
  if (scopes.length === 0) throw fail('bad_request', 'scopes must not be empty')
  for (const [at, scope] of scopes.entries()) {
    if (!KEY_SCOPES.some((known) => known === scope)) {
      const message = `scopes[${at}] must be a scope that a key can carry: ${KEY_SCOPES.join(', ')}`
      throw fail('bad_request', message)
    }
  }
  return [...new Set(scopes)]
}
