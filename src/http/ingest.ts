import type { Limits } from '../access/limits.ts'
import { networkOf } from '../access/network.ts'
import type { Origins, Shop } from '../access/origin.ts'
import { fail } from '../errors.ts'
import type { Ingest } from '../event/ingest.ts'
import { notAccepted, withRoom } from './collect.ts'
import type { Reply } from './reply.ts'
import type { Request } from './request.ts'
import type { Handler, Route } from './route.ts'

/** 64 KB, by the contract. */
const INGEST_BYTES = 65_536
/** How long a browser may remember the answer to OPTIONS: Chromium keeps none for longer. */
const PREFLIGHT_SECONDS = 7_200

export interface Ingesting {
  origins: Pick<Origins, 'find'>
  ingest: Pick<Ingest, 'acceptBrowser' | 'admit'>
  /** Counts a request of a shop's page by the client's address; throws `rate_limited`. */
  limit?: Limits['collect']
}

/**
 * The collect host: POST /cdp/ingest, for pages of shops. No credential: the Origin says whose events they are. Anyone
 * can make an Origin up outside of a browser, so the events are marked as a browser's.
 */
export function ingestRoutes({ origins, ingest, limit }: Ingesting): Route[] {
  /** Calls back with the shop of the page, whose origin is told that it may read the answer, whatever it is. */
  const ofShop = <Result>(request: Request, then: (shop: Shop) => Result): Result | Promise<Result> => {
    request.answerWith('vary', 'Origin')
    const origin = request.header('origin')
    if (origin === undefined || origin === 'null') throw fail('insufficient_scope', NO_ORIGIN)
    const found = origins.find(origin)
    const admitted = (shop: Shop | undefined) => {
      if (!shop) throw fail('insufficient_scope', NOT_A_SHOP)
      request.answerWith('access-control-allow-origin', origin)
      // A beacon is sent with cookies, which nothing here looks at; its answer is an error in the page without this.
      request.answerWith('access-control-allow-credentials', 'true')
      return then(shop)
    }
    return found instanceof Promise ? found.then(admitted) : admitted(found)
  }

  const accept = (request: Request): Handler | Promise<Handler> =>
    ofShop(request, (shop) => {
      limit?.(shop.scope, request.address)
      const room = { brandId: shop.brandId, network: networkOf(request.address), limit: INGEST_BYTES }
      return withRoom(ingest, request, room, ({ body }) =>
        ingest.acceptBrowser(body, shop).then(accepted, notAccepted),
      )
    })

  return [
    {
      path: '/cdp/ingest',
      surface: 'collect',
      bodyLimit: INGEST_BYTES,
      encodings: 400,
      borrows: true,
      methods: { POST: { admit: accept }, OPTIONS: (request) => ofShop(request, () => PREFLIGHT) },
    },
  ]
}

const NO_ORIGIN = 'Events are sent by pages of a shop: the Origin header is missing or null'
const NOT_A_SHOP =
  'The Origin is not allowed: it is neither a shop of the store platform nor a storefront domain of a brand'

const PREFLIGHT: Reply = {
  status: 204,
  headers: {
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': 'Content-Type',
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  },
}

const accepted = ({ accepted }: { accepted: number }): Reply => ({ status: 202, body: { accepted } })
