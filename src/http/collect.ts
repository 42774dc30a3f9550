import type { Authenticator, Identified } from '../access/authenticate.ts'
import { fail } from '../errors.ts'
import type { Intake } from '../event/intake.ts'
import { Unsettled } from '../event/log.ts'
import { messageOnly, type Reply } from './reply.ts'
import type { Request } from './request.ts'
import type { Route } from './route.ts'

/** 256 KB, by the contract. */
const BODY_BYTES = 262_144

/** POST /cdp/events: checked, committed, then acknowledged. */
export function collectEvents(authenticator: Pick<Authenticator, 'authenticate'>, intake: Intake): Route {
  const handler =
    (brandId: string) =>
    async (request: Request): Promise<Reply> => {
      try {
        return { status: 200, body: await intake(request.body, brandId) }
      } catch (error) {
        if (!(error instanceof Unsettled)) throw error
        return messageOnly(
          503,
          'It is not known whether the events were stored; sending them again may record some twice.',
        )
      }
    }
  return {
    path: '/cdp/events',
    surface: 'collect',
    bodyLimit: BODY_BYTES,
    encodings: 400,
    methods: {
      POST: {
        admit(request) {
          const identified = authenticator.authenticate(request.header('authorization'))
          return identified instanceof Promise
            ? identified.then((found) => handler(admitted(found)))
            : handler(admitted(identified))
        },
      },
    },
  }
}

/** The brand whose events a caller may send. */
function admitted({ caller, brand }: Identified): string {
  if (caller.keyClass === 'brand-api') {
    throw fail('unauthorized', 'A provider key cannot send events; use an API key that starts with svc_.')
  }
  if (!brand.features.includes('cdp'))
    throw fail('insufficient_scope', 'Customer-data features are not enabled for this brand.')
  if (!brand.shop_domain) throw fail('insufficient_scope', 'This brand has no connected store.')
  return brand.id
}
