/** Where the authorization server answers. */
export const PATHS = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  jwks: '/oauth/jwks',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  interaction: '/oauth/interaction',
} as const
