import type Provider from 'oidc-provider'
import { signInScopes } from '../../access/scopes.ts'
import { GRANT_SECONDS, PROTOCOL_SCOPES } from '../../access/sign-in/provider.ts'
import type { Standing } from '../../access/sign-in/standing.ts'
import type { Membership } from '../../access/sign-in/user.ts'
import type { Statements } from '../../op.ts'

type Details = Awaited<ReturnType<Provider['interactionDetails']>>

interface Asked {
  protocol: readonly string[]
  /** By resource. */
  resources: Readonly<Record<string, readonly string[]>>
}

const asked = ({ prompt }: Details): Asked => {
  const { missingOIDCScope = [], missingResourceScopes = {} } = prompt.details as {
    missingOIDCScope?: string[]
    missingResourceScopes?: Record<string, string[]>
  }
  return { protocol: missingOIDCScope, resources: missingResourceScopes }
}

/** Scopes of the API that a client asks for. */
export const askedScopes = (details: Details): string[] => [
  ...new Set(Object.values(asked(details).resources).flat()),
]

interface Consent {
  provider: Provider
  pipeline: Statements
  details: Details
  session: Standing
  /** With the brand that the user chose. */
  membership: Membership
}

/** `signed_out`: since the session was looked at. */
type Given = { grantId: string } | 'nothing_allowed' | 'signed_out'

/** Makes the grant of what was asked for and the user's role allows. */
export async function grantConsent(consent: Consent): Promise<Given> {
  const { provider, pipeline, details, session, membership } = consent
  const clientId = String(details.params.client_id)
  const { protocol, resources } = asked(details)
  const role = signInScopes(membership.role)
  const isAllowed = (scope: string) => role.includes(scope) || PROTOCOL_SCOPES.includes(scope)
  if (askedScopes(details).length > 0 && !askedScopes(details).some(isAllowed)) return 'nothing_allowed'

  const grant = new provider.Grant({ accountId: session.userId, clientId })
  const [allowed, refused] = split(protocol, isAllowed)
  if (allowed) grant.addOIDCScope(allowed)
  if (refused) grant.rejectOIDCScope(refused)
  for (const [resource, scopes] of Object.entries(resources)) {
    const [allowed, refused] = split(scopes, isAllowed)
    if (allowed) grant.addResourceScope(resource, allowed)
    if (refused) grant.rejectResourceScope(resource, refused)
  }
  const grantId = await grant.save()
  const made = await pipeline.run('grant_consent', [
    grantId,
    session.userId,
    membership.brand_id,
    clientId,
    GRANT_SECONDS,
    session.id,
  ])
  if (made === 0) return 'signed_out'
  await pipeline.run('oidc_client_used', [clientId])
  return { grantId }
}

const split = (scopes: readonly string[], isAllowed: (scope: string) => boolean): [string, string] => [
  scopes.filter(isAllowed).join(' '),
  scopes.filter((scope) => !isAllowed(scope)).join(' '),
]
