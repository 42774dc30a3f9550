import { PATHS } from '../../access/sign-in/paths.ts'
import type { JsonSchema } from '../json-schema.ts'
import type { Components } from './components.ts'
import type { DocumentedRoute } from './document.ts'
import { field, form, type Operation, object, signInAnswers, TEXT, TEXTS, URL } from './sign-in-parts.ts'

const documented = (route: string, operationId: string, operation: Operation): DocumentedRoute => ({
  route,
  host: 'base',
  operation: { operationId, tags: ['Sign-in'], security: [], ...operation },
})

/** The authorization server, its well-known documents, and signing in to the web app. */
export const signInDocumented = (components: Components): DocumentedRoute[] => [
  ...wellKnown(components),
  ...oauth(components),
  ...webApp(components),
]

const ISSUER = 'https://api.example.com'
const CLIENT = { client_name: 'Warehouse', redirect_uris: ['http://localhost:9999/callback'] }
const RESOURCE = { resource: `${ISSUER}/mcp`, authorization_servers: [ISSUER] }
const SERVER = {
  issuer: ISSUER,
  authorization_endpoint: ISSUER + PATHS.authorization,
  token_endpoint: ISSUER + PATHS.token,
  registration_endpoint: ISSUER + PATHS.registration,
  jwks_uri: ISSUER + PATHS.jwks,
}
const KEYS = {
  keys: [{ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid: 'Qx0y…', x: 'f83O…', y: 'x_FE…' }],
}
const TOKENS = {
  access_token: 'eyJhbGciOiJFUzI1NiIs…',
  token_type: 'Bearer',
  expires_in: 3600,
  refresh_token: 'q3Zt5kQ…',
  scope: 'brand:read segments:read',
}

function wellKnown(components: Components): DocumentedRoute[] {
  const { json, refusals } = signInAnswers(components)
  const resource = object(
    { resource: URL, authorization_servers: TEXTS, scopes_supported: TEXTS, bearer_methods_supported: TEXTS },
    ['resource', 'authorization_servers'],
  )
  const server = object(
    {
      issuer: URL,
      authorization_endpoint: URL,
      token_endpoint: URL,
      registration_endpoint: URL,
      revocation_endpoint: URL,
      jwks_uri: URL,
      scopes_supported: TEXTS,
      code_challenge_methods_supported: TEXTS,
      client_id_metadata_document_supported: { type: 'boolean' },
    },
    ['issuer', 'authorization_endpoint', 'token_endpoint', 'registration_endpoint', 'jwks_uri'],
  )
  const keys = object({ keys: { type: 'array', items: object({ kty: TEXT, kid: TEXT }, ['kty']) } }, ['keys'])
  const document = (
    path: string,
    operationId: string,
    summary: string,
    [schema, example, type]: [JsonSchema, object, string?],
  ) =>
    documented(`GET ${path}`, operationId, {
      summary,
      description: `${summary}. Pages of any site may read it.`,
      responses: { 200: json('The document.', schema, example, type), ...refusals },
    })
  const described = 'Protected-resource metadata (RFC 9728)'
  return [
    document('/.well-known/oauth-protected-resource', 'get_resource_metadata', described, [
      resource,
      RESOURCE,
    ]),
    document(
      '/.well-known/oauth-protected-resource/mcp',
      'get_mcp_resource_metadata',
      `${described} of MCP`,
      [resource, RESOURCE],
    ),
    document(
      '/.well-known/oauth-authorization-server',
      'get_authorization_server_metadata',
      'Authorization-server metadata (RFC 8414)',
      [server, SERVER],
    ),
    document(
      '/.well-known/openid-configuration',
      'get_openid_configuration',
      'The same as OpenID Connect names it',
      [server, SERVER],
    ),
    document(PATHS.jwks, 'get_signing_keys', 'Public keys that sign access tokens (RFC 7517)', [
      keys,
      KEYS,
      'application/jwk-set+json',
    ]),
  ]
}

function oauth(components: Components): DocumentedRoute[] {
  const { json, empty, page, redirect, refusals } = signInAnswers(components)
  const tokens = object(
    {
      access_token: TEXT,
      token_type: TEXT,
      expires_in: { type: 'integer' },
      refresh_token: TEXT,
      scope: TEXT,
    },
    ['access_token', 'token_type', 'expires_in'],
  )
  const client = object({ client_name: TEXT, redirect_uris: TEXTS, scope: TEXT }, ['redirect_uris'])
  const registered = object({ client_id: TEXT, redirect_uris: TEXTS }, ['client_id', 'redirect_uris'])
  const asked: JsonSchema = { ...URL, description: 'The address of REST (the origin) or of MCP.' }
  return [
    documented(`GET ${PATHS.authorization}`, 'authorize', {
      summary: 'Start a sign-in',
      description:
        'Opened in a browser. The person signs in, chooses a brand and agrees; the browser then returns to `redirect_uri` with a `code`. PKCE is required. All parameters have 4 KB at most. At most 60 requests per minute and address, and 600 of all together.',
      parameters: [
        field(
          'client_id',
          'Of a registered client, or the URL of its metadata document, at a public site.',
          TEXT,
        ),
        field('redirect_uri', 'One of the addresses of the client.', URL),
        field('response_type', 'Always `code`.', { type: 'string', enum: ['code'] }),
        field('code_challenge', 'SHA-256 of the code verifier, in base64url.', TEXT),
        field('code_challenge_method', 'Always `S256`.', { type: 'string', enum: ['S256'] }),
        field('scope', 'Scopes, separated by spaces; unknown ones are left out.', TEXT),
        field('state', 'Comes back unchanged.', TEXT),
        field('resource', 'What the token is for.', asked),
      ],
      responses: {
        303: redirect('To the pages of the sign-in, or back to the client.'),
        ...page({ 400: 'There is nobody to send the error back to, or the parameters are over 4 KB.' }),
        ...page({ 429: 'Too many requests.', 500: 'An unexpected error.', 503: 'Temporarily unavailable.' }),
      },
    }),
    documented(`POST ${PATHS.token}`, 'token', {
      summary: 'Exchange a code or a refresh token',
      description:
        'A refresh token is good for one exchange, whose answer has the next one. Access tokens are JWTs (ES256) for an hour, which end with their grant.',
      requestBody: form(
        {
          grant_type: { type: 'string', enum: ['authorization_code', 'refresh_token'] },
          client_id: TEXT,
          client_secret: TEXT,
          code: TEXT,
          code_verifier: TEXT,
          redirect_uri: URL,
          refresh_token: TEXT,
          resource: asked,
        },
        ['grant_type'],
      ),
      responses: { 200: json('Tokens.', tokens, TOKENS), ...refusals },
    }),
    documented(`POST ${PATHS.registration}`, 'register_client', {
      summary: 'Register a client (RFC 7591)',
      description:
        'Anybody may register a client, in 4 KB. What the service does not know is left out of the answer. A client is removed after three days in which nobody let it do anything. At most 60 requests per minute and address, and 120 of all together.',
      requestBody: {
        required: true,
        content: { 'application/json': { schema: client, example: CLIENT } },
      },
      responses: {
        201: json('The client.', registered, { client_id: 'V1StGXR8_Z5j', ...CLIENT }),
        ...refusals,
      },
    }),
    documented(`POST ${PATHS.revocation}`, 'revoke_token', {
      summary: 'Revoke a token (RFC 7009)',
      description: 'Ends the grant of an access or refresh token with all its tokens, at once everywhere.',
      requestBody: form({ token: TEXT, client_id: TEXT, client_secret: TEXT, token_type_hint: TEXT }, [
        'token',
      ]),
      responses: { 200: empty('Revoked, or never valid.'), ...refusals },
    }),
  ]
}

function webApp(components: Components): DocumentedRoute[] {
  const { page, redirect } = signInAnswers(components)
  const next = field('next', 'A path of the web app to go to afterwards.', TEXT)
  const chosen = field('brand_id', 'The brand that is chosen beforehand.', { type: 'string', format: 'uuid' })
  const failing = page({
    400: 'The request is malformed.',
    403: 'The form was not sent by a page of this origin.',
    413: 'The form is too large.',
    415: 'It is not a form.',
    500: 'An unexpected error.',
    503: 'Temporarily unavailable.',
  })
  const session = components.security('session')
  return [
    documented('GET /sign-in', 'show_sign_in', {
      summary: 'Sign-in page',
      description: 'The form of email and password.',
      parameters: [next],
      responses: { ...page({ 200: 'The page.' }), 303: redirect('Signed in already.'), ...failing },
    }),
    documented('POST /sign-in', 'sign_in', {
      summary: 'Sign in to the web app',
      description:
        'Starts a session of 14 days, whose cookie is HttpOnly and SameSite=Lax. Failures slow down further attempts.',
      requestBody: form({ email: TEXT, password: TEXT, next: TEXT }, ['email', 'password']),
      responses: {
        303: redirect('Signed in; the answer sets the session cookie.'),
        ...failing,
        ...page({
          401: 'The email or the password is wrong: the form again.',
          429: 'Too many failed attempts: the form again. Wait as long as `Retry-After` says.',
        }),
      },
    }),
    documented('GET /sign-in/brand', 'show_brands', {
      summary: 'Brand page',
      description: 'The brands of whoever is signed in; with `brand_id` that one is chosen beforehand.',
      security: session,
      parameters: [next, chosen],
      responses: { ...page({ 200: 'The page.' }), 303: redirect('Not signed in.'), ...failing },
    }),
    documented('POST /sign-in/brand', 'choose_brand', {
      summary: 'Choose the brand of a session',
      description: 'The session acts for this brand from now on.',
      security: session,
      requestBody: form({ brand_id: { type: 'string', format: 'uuid' }, next: TEXT }, ['brand_id']),
      responses: {
        303: redirect('Chosen, or not signed in.'),
        ...failing,
        ...page({ 404: 'The person does not belong to such a brand.' }),
      },
    }),
    documented('POST /sign-out', 'sign_out', {
      summary: 'End a session',
      description: 'Ends it at once everywhere, and removes its cookie.',
      security: session,
      responses: { 303: redirect('To the sign-in page.'), ...failing },
    }),
  ]
}
