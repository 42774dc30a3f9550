import { type Code, type Failure, fail } from '../errors.ts'
import type { Brand, Caller, Op } from '../op.ts'
import { classHas, currentScope } from './scopes.ts'

/** Who stands behind a credential, as records name it: a user, or the key itself. */
export const userOf = (caller: Caller): string => (caller.kind === 'key' ? caller.id : caller.userId)

/** What a surface calls a refusal. */
const CODES: Record<Op['surface'], { credential: Code; role: Code; feature: Code; store: Code }> = {
  rest: {
    credential: 'insufficient_scope',
    role: 'insufficient_scope',
    feature: 'insufficient_scope',
    store: 'insufficient_scope',
  },
  cdp: {
    credential: 'forbidden',
    role: 'forbidden',
    feature: 'forbidden',
    store: 'integration_not_connected',
  },
}

interface Feature {
  /** Another feature that must be there as well. */
  with?: string
  /** Needs a connected store. */
  store?: boolean
  /** On the CDP host, whose answers name the shop as their scope, too. */
  scope?: boolean
  /** The CDP host's own code for its absence. */
  cdpCode?: Code
}

const FEATURES: ReadonlyMap<string, Feature> = new Map<string, Feature>([
  ['cdp', { scope: true }],
  ['beta:cdp-commerce', { with: 'cdp', store: true, cdpCode: 'beta_not_enabled' }],
])

/** The codes of the 403 answers that follow from an operation's declaration. */
export function refusalCodes({ surface, signIn, role, scopes, feature }: Ruled): Code[] {
  const codes = CODES[surface]
  const rules = feature ? FEATURES.get(feature) : undefined
  const cdpCode = surface === 'cdp' ? rules?.cdpCode : undefined
  return [
    ...new Set<Code>([
      ...(scopes.length > 0 ? (['insufficient_scope'] as const) : []),
      ...(signIn ? [codes.credential] : []),
      ...(role ? [codes.role] : []),
      ...(feature ? [cdpCode ?? codes.feature] : []),
      ...(rules?.with ? [codes.feature] : []),
      ...(rules?.store ? [codes.store] : []),
    ]),
  ]
}

type Ruled = Pick<Op, 'surface' | 'signIn' | 'role' | 'scopes' | 'feature'>

/** Why the caller may not run the operation: the 401 or 403 that follows from its declaration; null when it may. */
export function refusal(op: Ruled, caller: Caller, brand: Brand): Failure | null {
  return (
    wrongCredential(op, caller) ??
    wrongRole(op, caller) ??
    missingScope(op, caller) ??
    missingFeature(op.surface, op.feature, brand)
  )
}

function wrongCredential({ surface, signIn, scopes }: Ruled, caller: Caller): Failure | null {
  if (surface === 'cdp' && caller.kind === 'key' && caller.keyClass === 'brand-api') {
    const challenge = { headers: { 'www-authenticate': 'Bearer' } }
    return fail('unauthorized', 'Provider keys are not accepted here', challenge)
  }
  const code = CODES[surface].credential
  if (signIn === 'session' && caller.kind !== 'session')
    return fail(code, 'This operation needs a session of the web app')
  if (signIn && caller.kind === 'key')
    return fail(code, `This operation needs a sign-in; an API key cannot use it. ${scriptsSignIn(scopes)}`)
  return null
}

const scriptsSignIn = ([scope = 'brand:read']: readonly string[]) =>
  `For scripts, recoup token --user EMAIL --scopes ${scope} makes a sign-in token`

function wrongRole({ surface, role }: Ruled, caller: Caller): Failure | null {
  if (!role || (caller.kind !== 'key' && (caller.role === role || caller.isStaff))) return null
  return fail(CODES[surface].role, `This operation needs a user with the role ${role}`)
}

function missingScope({ scopes: wanted }: Ruled, caller: Caller): Failure | null {
  if (wanted.length === 0 || caller.scopes.some((scope) => counts(caller, currentScope(scope), wanted)))
    return null
  const scopes = wanted.length === 1 ? `the scope ${wanted[0]}` : `one of the scopes ${wanted.join(', ')}`
  return fail('insufficient_scope', `This operation needs ${scopes}`)
}

const counts = (caller: Caller, scope: string, wanted: readonly string[]) =>
  wanted.includes(scope) && (caller.kind !== 'key' || classHas(caller.keyClass, scope))

/** Whether the brand is a store's that has not removed the app. */
export const hasStore = ({ shop_domain, store_left }: Brand): boolean => shop_domain !== '' && !store_left

function missingFeature(surface: Op['surface'], name: string | undefined, brand: Brand): Failure | null {
  if (!name) return null
  const feature = FEATURES.get(name)
  const code = (surface === 'cdp' && feature?.cdpCode) || CODES[surface].feature
  if (!brand.features.includes(name)) return fail(code, `The brand does not have the feature ${name}`)
  if (feature?.store && !hasStore(brand))
    return fail(CODES[surface].store, 'No store is connected to this brand')
  if (feature?.scope && surface === 'cdp' && !brand.shop_domain)
    return fail(CODES[surface].feature, 'No store is connected to this brand, whose shop would be the scope')
  return missingFeature(surface, feature?.with, brand)
}
