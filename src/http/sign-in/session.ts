import type { SignIn } from '../../access/sign-in/open.ts'
import { membershipsOf } from '../../access/sign-in/user.ts'
import { fail } from '../../errors.ts'
import type { Handler, Route } from '../server.ts'
import { FORM_BYTES, formOf } from './form.ts'
import { submitLogin } from './login.ts'
import { brandPage, loginPage } from './pages.ts'
import { checkOrigin, redirect, shown } from './web.ts'

export interface SessionDeps {
  signIn: SignIn
  /** Waits until all server processes have taken note. */
  everywhere(): Promise<void>
}

/** Signing in to the web app, choosing its brand, and signing out. */
export function sessionRoutes({ signIn, everywhere }: SessionDeps): Route[] {
  const { sessions, pipeline, issuer } = signIn
  const here = (next: string) => ownUrl(next, issuer)

  const showLogin: Handler = async (request) => {
    const next = request.query.get('next') ?? '/'
    if (await sessions.find(request.header('cookie'))) return redirect(here(next))
    return loginPage({ action: '/sign-in', client: null, next })
  }

  const login: Handler = async (request) => {
    checkOrigin(request, issuer)
    const next = formOf(request).get('next') || '/'
    const form = { action: '/sign-in', client: null, next }
    return await submitLogin(signIn, request, form, async (user, cookies) => {
      const choice = `/sign-in/brand?${new URLSearchParams({ next })}`
      return redirect(user.memberships.length > 1 ? choice : here(next), cookies)
    })
  }

  const showBrands: Handler = async (request) => {
    const next = request.query.get('next') ?? '/'
    const session = await sessions.find(request.header('cookie'))
    if (!session) return redirect(`/sign-in?${new URLSearchParams({ next })}`)
    return brandPage({
      memberships: await membershipsOf(pipeline, session.userId),
      brandId: request.query.get('brand_id') ?? session.brand.id,
      next,
    })
  }

  const chooseBrand: Handler = async (request) => {
    checkOrigin(request, issuer)
    const form = formOf(request)
    const session = await sessions.find(request.header('cookie'))
    if (!session) return redirect('/sign-in')
    const brandId = form.get('brand_id')
    const memberships = await membershipsOf(pipeline, session.userId)
    if (!memberships.some((one) => one.brand_id === brandId))
      throw fail('not_found', 'You do not belong to such a brand')
    await sessions.setBrand(session, brandId)
    await everywhere()
    return redirect(here(form.get('next') || '/'))
  }

  const signOut: Handler = async (request) => {
    checkOrigin(request, issuer)
    const removal = await sessions.end(request.header('cookie'))
    await everywhere()
    return redirect('/sign-in', [removal])
  }

  return [
    page('/sign-in', { GET: shown(showLogin), POST: shown(login) }),
    page('/sign-in/brand', { GET: shown(showBrands), POST: shown(chooseBrand) }),
    page('/sign-out', { POST: shown(signOut) }),
  ]
}

const page = (path: string, methods: Route['methods']): Route => ({
  path,
  surface: 'plain',
  bodyLimit: FORM_BYTES,
  methods,
})

/** Never another site, however the path is spelled. */
function ownUrl(next: string, issuer: string): string {
  const url = URL.parse(next, issuer)
  return url?.origin === issuer ? url.href : `${issuer}/`
}
