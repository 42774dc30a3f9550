import type { Authenticator, Identified } from '../access/authenticate.ts'
import { hasStore } from '../access/permit.ts'
import { fail } from '../errors.ts'
import type { Ingest } from '../event/ingest.ts'
import { Unsettled } from '../event/log.ts'
import { messageOnly, type Reply } from './reply.ts'
import type { Request } from './request.ts'
import type { Handler, Route } from './route.ts'

/** 256 KB, by the contract. */
const EVENTS_BYTES = 262_144

export interface Collecting {
  authenticator: Pick<Authenticator, 'authenticate'>
  ingest: Pick<Ingest, 'accept' | 'admit'>
}

/** The collect host: POST /cdp/events, acknowledged once the events are committed. */
export function collectRoutes({ authenticator, ingest }: Collecting): Route[] {
  const accept = (request: Request, found: Identified): Handler => {
    const brandId = admitted(found)
    return withRoom(ingest, request, { brandId, limit: EVENTS_BYTES }, ({ body }) =>
      ingest.accept(body, brandId).then(accepted, notAccepted),
    )
  }
  return [
    {
      path: '/cdp/events',
      surface: 'collect',
      bodyLimit: EVENTS_BYTES,
      encodings: 400,
      borrows: true,
      methods: {
        POST: {
          admit(request) {
            const found = authenticator.authenticate(request.header('authorization'))
            return found instanceof Promise
              ? found.then((later) => accept(request, later))
              : accept(request, found)
          },
        },
      },
    },
  ]
}

/** Handles a body of at most `limit` bytes for which there is room until then. */
export function withRoom(
  ingest: Pick<Ingest, 'admit'>,
  request: Request,
  { brandId, network, limit }: { brandId: string; network?: string; limit: number },
  handler: Handler,
): Handler {
  const declared = Number(request.header('content-length') ?? limit)
  const release = ingest.admit(brandId, Math.min(declared, limit), network)
  request.atEnd(release)
  return (whole) => {
    release()
    return handler(whole)
  }
}

/** The brand whose events a caller may send. */
function admitted({ caller, brand }: Identified): string {
  if (caller.kind !== 'key' || caller.keyClass === 'brand-api') {
    const challenge = { headers: { 'www-authenticate': 'Bearer' } }
    throw fail('unauthorized', 'Events are sent with an API key: create one in the settings', challenge)
  }
  if (!brand.features.includes('cdp')) {
    throw fail('insufficient_scope', 'Customer-data features are not enabled for this brand')
  }
  if (!hasStore(brand)) throw fail('insufficient_scope', 'No store is connected to this brand')
  return brand.id
}

const accepted = (body: object): Reply => ({ status: 200, body })

/** The answer to a failure of storage; throws what is no such failure. */
export function notAccepted(error: unknown): Reply {
  if (!(error instanceof Unsettled)) throw error
  return messageOnly(
    503,
    'It is not known whether the events were stored: sent again, some may be recorded twice.',
  )
}
