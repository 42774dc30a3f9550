import type Provider from 'oidc-provider'
import { type Configuration, interactionPolicy } from 'oidc-provider'
import { PATHS } from './paths.ts'
import type { Sessions } from './session.ts'

const { Check } = interactionPolicy

/** When the user is asked what: to sign in unless the web app's session says who it is, and to consent always. */
export function interactionsOf(sessions: Sessions): NonNullable<Configuration['interactions']> {
  const policy = interactionPolicy.base()

  const login = policy.get('login')?.checks
  login?.remove('no_session')
  login?.add(
    new Check('no_session', 'the user is not signed in', async (ctx) => {
      const session = await sessions.find(ctx.get('cookie'))
      const { accountId } = ctx.oidc.session ?? {}
      return session && session.userId === accountId ? Check.NO_NEED_TO_PROMPT : Check.REQUEST_PROMPT
    }),
  )

  const consent = policy.get('consent')?.checks
  consent?.remove('native_client_prompt')
  consent?.add(
    new Check('not_given', 'the user has not agreed', ({ oidc }) =>
      oidc.result?.consent ? Check.NO_NEED_TO_PROMPT : Check.REQUEST_PROMPT,
    ),
    0,
  )

  return { policy, url: (_ctx, { uid }) => `${PATHS.interaction}/${uid}` }
}

/** Makes a sign-in under way forget who it is for. */
export async function forgetAccount(provider: Provider, sessionUid: string | undefined): Promise<void> {
  const session = sessionUid ? await provider.Session.findByUid(sessionUid) : undefined
  if (!session) return
  delete session.accountId
  await session.persist()
}

/** Revokes all that a client holds by a grant. */
export async function endGrant(provider: Provider, grantId: string): Promise<void> {
  await provider.AuthorizationCode.revokeByGrantId(grantId)
  await provider.RefreshToken.revokeByGrantId(grantId)
  await provider.Grant.adapter.destroy(grantId)
}
