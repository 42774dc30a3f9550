import { fail } from '../errors.ts'
import type { KeyCaller, Role } from '../op.ts'

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

/** Scopes that a sign-in of this role can carry. */
export const signInScopes = (role: Role): readonly string[] =>
  role === 'admin' ? [...KEY_SCOPES, 'keys:manage'] : KEY_SCOPES

/** Removed names that credentials issued before the rename still carry. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['workflows:read', 'campaigns:read'],
  ['dashboard:read', 'stats:read'],
])

export const currentScope = (scope: string): string => RENAMED.get(scope) ?? scope

/** What a provider key never gets, even when its row says so. */
const PROVIDER_KEY_NEVER: readonly string[] = [
  'customers:read',
  'commerce:read',
  'segments:read',
  'segments:write',
  'contacts:read',
  'conversations:read',
  'insights:read',
]

export const classHas = (keyClass: KeyCaller['keyClass'], scope: string): boolean =>
  keyClass === 'cdp' || !PROVIDER_KEY_NEVER.includes(scope)

/** The scopes without repetition; throws a 400 that names the first one that a key of the class cannot carry. */
export function keyScopes(scopes: readonly string[], keyClass: KeyCaller['keyClass'] = 'cdp'): string[] {
  if (scopes.length === 0) throw fail('bad_request', 'scopes must not be empty')
  const known = KEY_SCOPES.filter((scope) => classHas(keyClass, scope))
  for (const [at, scope] of scopes.entries()) {
    if (!known.some((one) => one === scope)) {
      const message = `scopes[${at}] must be a scope that a key can carry: ${known.join(', ')}`
      throw fail('bad_request', message)
    }
  }
  return [...new Set(scopes)]
}
