import { createProvider } from '../access/sign-in/provider.ts'
import type { Route } from './server.ts'
import { countDocument } from './sign-in/document.ts'
import { interactionRoutes } from './sign-in/interaction.ts'
import { resourceRoutes } from './sign-in/metadata.ts'
import { type OAuthDeps, oauthRoutes } from './sign-in/oauth.ts'
import { errorPage } from './sign-in/pages.ts'
import { sessionRoutes } from './sign-in/session.ts'

export interface SignInDeps extends Omit<OAuthDeps, 'provider'> {
  /** Waits until all server processes have taken note of what changed. */
  everywhere?(): Promise<void>
}

/** Everything about signing in: OAuth 2.1 for clients, its pages, and the web app's session. */
export function signInRoutes({ signIn, everywhere = async () => {}, ...limits }: SignInDeps): Route[] {
  const provider = createProvider({
    ...signIn,
    grantEnded: async (id) => {
      signIn.forget('grant', id)
      await everywhere()
    },
    beforeFetch: limits.limitShared && countDocument(limits.limitShared),
    showError: (ctx, { error, error_description: description }) => {
      const { headers, body } = errorPage(400, 'This app cannot sign you in', description ?? error)
      ctx.set(headers as Record<string, string>)
      ctx.body = body
    },
  })
  return [
    ...resourceRoutes(signIn.issuer),
    ...oauthRoutes({ provider, signIn, ...limits }),
    ...interactionRoutes({ provider, signIn }),
    ...sessionRoutes({ signIn, everywhere }),
  ]
}
