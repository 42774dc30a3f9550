import type { SignIn } from '../access/sign-in/open.ts'
import { createProvider } from '../access/sign-in/provider.ts'
import type { Op } from '../op.ts'
import type { Route } from './server.ts'
import { interactionRoutes } from './sign-in/interaction.ts'
import { resourceRoutes } from './sign-in/metadata.ts'
import { oauthRoutes } from './sign-in/oauth.ts'
import { errorPage } from './sign-in/pages.ts'
import { sessionRoutes } from './sign-in/session.ts'

export interface SignInDeps {
  signIn: SignIn
  /** Counts a call by a credential or, before there is one, an address; throws `rate_limited`. */
  limit?(op: Pick<Op, 'name' | 'rate'>, credential: string): void | Promise<void>
  /** Waits until all server processes have taken note of what changed. */
  everywhere?(): Promise<void>
}

/** Everything about signing in: OAuth 2.1 for clients, its pages, and the web app's session. */
export function signInRoutes({ signIn, limit, everywhere = async () => {} }: SignInDeps): Route[] {
  const provider = createProvider({
    ...signIn,
    grantEnded: async (id) => {
      signIn.forget('grant', id)
      await everywhere()
    },
    showError: (ctx, { error, error_description: description }) => {
      const { headers, body } = errorPage(400, 'This app cannot sign you in', description ?? error)
      ctx.set(headers as Record<string, string>)
      ctx.body = body
    },
  })
  return [
    ...resourceRoutes(signIn.issuer),
    ...oauthRoutes({ provider, signIn, limit: async (op, address) => limit?.(op, `address ${address}`) }),
    ...interactionRoutes({ provider, signIn }),
    ...sessionRoutes({ signIn, everywhere }),
  ]
}
