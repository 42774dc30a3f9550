import { errors, type KoaContextWithOIDC } from 'oidc-provider'
import { siteOf } from '../../access/network.ts'
import { PATHS } from '../../access/sign-in/paths.ts'
import { Failure } from '../../errors.ts'
import type { Rate } from '../../op.ts'

/** By all networks of one site: half of what all have. */
const SITE_AUTHORIZATIONS = { count: 300, per: 'minute' } as const
/** By all together, of those that may be kept: in the two hours until they are swept, 350 MB. */
const ALL_AUTHORIZATIONS = { count: 600, per: 'minute', burst: 1_200 } as const

/** Counts what all share; throws `rate_limited`. */
export type LimitShared = (key: string, rate: Rate) => Promise<void>

/** Counts a sign-in that is asked for and may be kept, or the document of a client that is fetched. */
export async function countAuthorization(limitShared: LimitShared, address: string): Promise<void> {
  const site = siteOf(address)
  if (site) await limitShared(`oauth_authorize of ${site}`, SITE_AUTHORIZATIONS)
  await limitShared('oauth_authorize', ALL_AUTHORIZATIONS)
}

/** Counts a document before it is fetched, whoever names it; a sign-in that is asked for was counted before. */
export const countDocument =
  (limitShared: LimitShared) =>
  async (ctx: KoaContextWithOIDC | undefined): Promise<void> => {
    if (ctx?.path === PATHS.authorization) return
    await countAuthorization(limitShared, ctx?.ip ?? '').catch((error: unknown) => {
      if (!ctx || !(error instanceof Failure)) throw error
      ctx.set(error.headers)
      throw Object.assign(new errors.OIDCProviderError(error.status, error.publicCode), {
        error_description: error.message,
      })
    })
  }
