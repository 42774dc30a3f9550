import type { Place } from '../connect/custom/accept.ts'
import { deliver } from '../connect/custom/deliver.ts'
import { readDelivery } from '../connect/custom/delivery.ts'
import type { Receivers, WebhookReceiver } from '../connect/custom/receivers.ts'
import { refuse } from '../connect/custom/refuse.ts'
import { isSignature, isSigned } from '../connect/custom/signature.ts'
import { createLanes } from '../connect/lanes.ts'
import { createRoom, type RoomLimits } from '../connect/room.ts'
import { fail } from '../errors.ts'
import type { Db } from '../op.ts'
import { sizeProblem } from './json-size.ts'
import { type Request, refuseEncoding } from './request.ts'
import type { Handler, Route } from './route.ts'

/** 256 KB. */
const DELIVERY_BYTES = 262_144
/** So much of a body is received: who signed it is said before its length is. */
const MOST_BYTES = 1_048_576

export interface Webhooks {
  receivers: Pick<Receivers, 'find'>
  db(brandId: string): Db
  storePlatformDomain: string
  room: RoomLimits
}

/** The receiver of custom webhooks: POST /custom/{webhookId}, acknowledged once the event is committed. */
export function webhookRoutes({ receivers, db, storePlatformDomain, room }: Webhooks): Route[] {
  const inRoom = createRoom(room)
  const inLane = createLanes()
  const inTurn = (brandId: string): Db => {
    const brand = db(brandId)
    return { ...brand, tx: (work) => inLane(brandId, () => brand.tx(work)) }
  }
  const admit = (found: WebhookReceiver | undefined, signature: string | undefined): Handler => {
    const { secret, former, brandId, providerId } = admitted(found)
    const isOurs = (body: Buffer, given: string) =>
      isSigned(secret, body, given) ||
      (former !== null && former.until > new Date() && isSigned(former.secret, body, given))
    if (!isSignature(signature)) throw unsigned()
    return async (request) => {
      if (!isOurs(request.body, signature)) throw unsigned()
      const delivery = deliveryOf(request)
      const place: Place = { brandId, providerId, db: inTurn(brandId), storePlatformDomain }
      const body = await inRoom(brandId, request.body.length, () => deliver(place, delivery))
      return { status: 200, body }
    }
  }
  const common = { surface: 'webhook', bodyLimit: MOST_BYTES, encodings: 'handler', tooLarge } as const
  const missing = () => {
    throw refuse('missing_webhook_id', 'The path must end with the webhook id: /custom/{webhookId}')
  }
  const methods = {
    POST: {
      admit(request: Request) {
        const signature = request.header('x-svc-signature')
        const found = receivers.find(request.params.webhookId ?? '')
        return found instanceof Promise
          ? found.then((receiver) => admit(receiver, signature))
          : admit(found, signature)
      },
    },
  }
  return [
    { ...common, path: '/custom/{webhookId}', methods },
    { ...common, path: '/custom/{webhookId}/', methods },
    { ...common, path: '/custom', methods: { POST: { admit: missing } } },
    { ...common, path: '/custom/', methods: { POST: { admit: missing } } },
  ]
}

/** A receiver that takes deliveries; throws a refusal for any other. */
function admitted(receiver: WebhookReceiver | undefined): WebhookReceiver & { secret: Buffer } {
  // One answer for both, which tells nobody what exists.
  if (!receiver?.isEnabled)
    throw refuse('unknown_webhook', 'There is no enabled integration at this address: check the webhook URL')
  const { secret } = receiver
  if (secret === null)
    throw refuse('secret_not_configured', 'This integration has no webhook secret: make one in its settings')
  return { ...receiver, secret }
}

const unsigned = () =>
  refuse(
    'invalid_signature',
    'The header x-svc-signature must be the lower-case hexadecimal HMAC-SHA256 of the body, by the webhook secret',
  )

const tooLarge = () => fail('bad_request', `The body must be at most ${DELIVERY_BYTES / 1024} KB`)

function deliveryOf(request: Request) {
  refuseEncoding(request, 'bad_request')
  if (request.body.length > DELIVERY_BYTES) throw tooLarge()
  // An order of many lines has many names, the same in each, which costs little.
  const tooMuch = sizeProblem(request.body, { maxNames: Number.POSITIVE_INFINITY })
  if (tooMuch !== null) throw refuse('invalid_payload', tooMuch)
  return readDelivery(request.body, {
    contentType: request.header('content-type'),
    eventId: request.header('x-svc-event-id'),
    topic: request.header('x-svc-topic'),
  })
}
