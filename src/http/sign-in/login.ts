import { type LoggedIn, logIn } from '../../access/sign-in/login.ts'
import type { SignIn } from '../../access/sign-in/open.ts'
import { Failure } from '../../errors.ts'
import type { Reply, Request } from '../server.ts'
import { formOf } from './form.ts'
import { type LoginPage, loginPage } from './pages.ts'

/**
 * Reads a sent login form: goes on with the user and the cookies of a new session, or shows the form again with what
 * is wrong.
 */
export async function submitLogin(
  signIn: SignIn,
  request: Request,
  form: Pick<LoginPage, 'action' | 'client' | 'next'>,
  goOn: (user: LoggedIn, cookies: string[]) => Promise<Reply>,
): Promise<Reply> {
  const sent = formOf(request)
  const email = sent.get('email')
  const cookies = request.header('cookie')
  try {
    const user = await logIn(signIn.pipeline, {
      email,
      password: sent.get('password'),
      address: request.address,
      device: signIn.devices.known(cookies, email),
    })
    // Not to leave behind a session that nobody has the cookie of any more.
    await signIn.sessions.end(cookies)
    const session = await signIn.sessions.start(
      user.id,
      user.memberships[0]?.brand_id ?? '',
      user.passwordHash,
    )
    return await goOn(user, [session, signIn.devices.remember(user.email)])
  } catch (error) {
    if (!(error instanceof Failure) || error.status >= 500) throw error
    const { code, message: problem, status, headers } = error
    return loginPage({ ...form, email, problem, invalid: code === 'unauthorized', status, headers })
  }
}
