import { decodeJwt } from 'jose'
import type Provider from 'oidc-provider'
import { endGrant } from '../../access/sign-in/interactions.ts'
import type { SignIn } from '../../access/sign-in/open.ts'
import type { OwnClaims } from '../../access/sign-in/token.ts'
import type { Reply, Request } from '../server.ts'
import { answerOf } from './in-process.ts'

/**
 * Revokes a token and its grant, with all other tokens of it. The authorization server knows refresh tokens only: an
 * access token it refuses, once the client has proved who it is.
 */
export async function revoke(provider: Provider, signIn: SignIn, request: Request): Promise<Reply> {
  const reply = await answerOf(provider, request)
  if (errorOf(reply) !== 'unsupported_token_type') return reply
  const form = new URLSearchParams(request.body.toString())
  const token = form.get('token') ?? ''
  const found = await signIn.verify(token)
  // What is not valid, or another client's, is none of the caller's concern: it is told nothing.
  if (found?.caller.kind === 'token' && found.caller.clientId === clientOf(request, form))
    await endGrant(provider, decodeJwt<OwnClaims>(token).grant_id)
  return { status: 200, headers: { 'cache-control': 'no-store' } }
}

function errorOf({ status, body }: Reply): string | undefined {
  if (status !== 400 || !Buffer.isBuffer(body)) return undefined
  return (JSON.parse(body.toString()) as { error?: string }).error
}

/** Of a request that the authorization server found in order. */
function clientOf(request: Request, form: URLSearchParams): string | null {
  const basic = /^basic +(\S+)$/i.exec(request.header('authorization') ?? '')?.[1]
  if (!basic) return form.get('client_id')
  const [id = ''] = Buffer.from(basic, 'base64').toString().split(':')
  return decodeURIComponent(id.replaceAll('+', '%20'))
}
