import type Provider from 'oidc-provider'
import { errors, type InteractionResults } from 'oidc-provider'
import { forgetAccount } from '../../access/sign-in/interactions.ts'
import type { SignIn } from '../../access/sign-in/open.ts'
import { PATHS } from '../../access/sign-in/paths.ts'
import type { Standing } from '../../access/sign-in/standing.ts'
import { membershipsOf } from '../../access/sign-in/user.ts'
import type { Handler, Reply, Request, Route } from '../server.ts'
import { askedScopes, grantConsent } from './consent.ts'
import { FORM_BYTES, formOf } from './form.ts'
import { nodeRequest } from './in-process.ts'
import { submitLogin } from './login.ts'
import { type ConsentPage, consentPage, errorPage, loginPage } from './pages.ts'
import { checkOrigin, redirect, shown } from './web.ts'

type Details = Awaited<ReturnType<Provider['interactionDetails']>>

interface Under {
  provider: Provider
  signIn: SignIn
}

/** One step of a sign-in under way. */
interface Step extends Under {
  request: Request
  details: Details
  /** Path of its pages. */
  path: string
  /** Name of the client, which it gave itself. */
  client: string
}

/** The pages that a user sees between a client's request and its answer. */
export function interactionRoutes(under: Under): Route[] {
  const path = `${PATHS.interaction}/{uid}`
  const post = (name: string, act: (step: Step) => Promise<Reply>): Route => ({
    path: `${path}/${name}`,
    surface: 'plain',
    bodyLimit: FORM_BYTES,
    methods: {
      POST: handler(under, async (step) => {
        checkOrigin(step.request, under.signIn.issuer)
        return await act(step)
      }),
    },
  })
  return [
    { path, surface: 'plain', bodyLimit: 0, methods: { GET: handler(under, show) } },
    post('login', login),
    post('consent', consent),
    post('switch', switchAccount),
    post('cancel', (step) => finish(step, { error: 'access_denied', error_description: 'the user refused' })),
  ]
}

const handler = (under: Under, act: (step: Step) => Promise<Reply>): Handler =>
  shown(async (request) => {
    const step = await stepOf(under, request)
    return step ? await act(step) : expired()
  })

const expired = () =>
  errorPage(
    400,
    'This sign-in has ended',
    'It took longer than an hour, or was finished in another window. Go back to the app and start again.',
  )

async function stepOf(under: Under, request: Request): Promise<Step | undefined> {
  try {
    const details = await under.provider.interactionDetails(...nodeRequest(under.provider, request))
    if (details.uid !== request.params.uid) return undefined
    const client = await under.provider.Client.find(String(details.params.client_id))
    if (!client) return undefined
    const name = shownName(client.clientName ?? '') || hostOf(client.clientId) || 'An app without a name'
    return {
      ...under,
      request,
      details,
      path: `${PATHS.interaction}/${details.uid}`,
      client: name,
    }
  } catch (error) {
    if (error instanceof errors.SessionNotFound) return undefined
    throw error
  }
}

/** Goes back to the authorization server, which knows what comes next; without a result it starts over. */
async function finish(
  { provider, request }: Step,
  result?: InteractionResults,
  cookies?: readonly string[],
): Promise<Reply> {
  const options = { mergeWithLastSubmission: result !== undefined }
  const node = nodeRequest(provider, request)
  return redirect(await provider.interactionResult(...node, result ?? {}, options), cookies)
}

async function asUser(step: Step, userId: string, cookies?: readonly string[]): Promise<Reply> {
  const { details, provider } = step
  const reply = await finish(step, { login: { accountId: userId, remember: false } }, cookies)
  // Another account than before would otherwise have to be signed out by a page of its own.
  if (details.session?.accountId !== userId) await forgetAccount(provider, details.session?.uid)
  return reply
}

async function show(step: Step): Promise<Reply> {
  const { details, signIn, request, path, client } = step
  const session = await signIn.sessions.find(request.header('cookie'))
  if (details.prompt.name === 'consent') return await showConsent(step, session)
  if (session && details.prompt.reasons.every((reason) => reason === 'no_session'))
    return await asUser(step, session.userId)
  const { login_hint: hint } = details.params
  const email = typeof hint === 'string' && hint.includes('@') ? hint : undefined
  return loginPage({ action: `${path}/login`, client, email })
}

async function login(step: Step): Promise<Reply> {
  const { signIn, request, path, client } = step
  const form = { action: `${path}/login`, client }
  return await submitLogin(signIn, request, form, (user, cookies) => asUser(step, user.id, cookies))
}

async function switchAccount(step: Step): Promise<Reply> {
  const { details, provider, signIn, request } = step
  const reply = await finish(step, undefined, [await signIn.sessions.end(request.header('cookie'))])
  await forgetAccount(provider, details.session?.uid)
  return reply
}

async function consent(step: Step): Promise<Reply> {
  const { details, provider, signIn, request } = step
  const session = await signIn.sessions.find(request.header('cookie'))
  const userId = details.session?.accountId
  // Signed out in the meantime: the authorization server asks to sign in again.
  if (!userId || session?.userId !== userId) return await finish(step)
  const brandId = formOf(request).get('brand_id')
  const membership = (await membershipsOf(signIn.pipeline, userId)).find((one) => one.brand_id === brandId)
  if (!membership)
    return await showConsent(step, session, { status: 400, problem: 'Choose the brand to connect' })
  const given = await grantConsent({ provider, pipeline: signIn.pipeline, details, session, membership })
  if (given === 'signed_out') {
    signIn.forget('session', session.id)
    return await finish(step)
  }
  if (given === 'nothing_allowed')
    return await showConsent(step, session, {
      status: 403,
      problem: `As a member of ${membership.name} you cannot allow any of this: ask an administrator`,
    })
  return await finish(step, { consent: given })
}

async function showConsent(
  step: Step,
  session: Standing | undefined,
  more: Pick<ConsentPage, 'problem' | 'status'> = {},
): Promise<Reply> {
  const { details, signIn, path, client } = step
  if (!session || session.userId !== details.session?.accountId) return await finish(step)
  const redirectUri = new URL(String(details.params.redirect_uri))
  return consentPage({
    ...more,
    action: path,
    client,
    target: targetOf(redirectUri),
    email: session.email,
    memberships: await membershipsOf(signIn.pipeline, session.userId),
    brandId: session.brand.id,
    scopes: askedScopes(details),
    leadsTo: [sourceOf(redirectUri)],
  })
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/** Where a code is sent, as a person would say it: the one thing that a client cannot make up. */
function targetOf({ protocol, hostname }: URL): string {
  if (LOOPBACK.includes(hostname)) return 'an app on this device'
  return protocol === 'https:' || protocol === 'http:' ? hostname : `an app on this device (${protocol})`
}

/** For the policy of the page: browsers hold the whole way to it, and a site may lead on to another. */
const sourceOf = ({ protocol, origin, hostname }: URL) =>
  // A policy knows no IPv6 addresses.
  protocol === 'http:' && !hostname.startsWith('[') ? origin : protocol

/** A client's own name, on one line, without what would turn the text around it. */
const shownName = (name: string) =>
  name
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replace(/[\p{Cc}\p{Z}\u2800]+/gu, ' ')
    .trim()
    .slice(0, 100)

const hostOf = (clientId: string) => (URL.canParse(clientId) ? new URL(clientId).hostname : undefined)
