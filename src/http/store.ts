import { randomBytes } from 'node:crypto'
import { createRoom, type RoomLimits } from '../connect/room.ts'
import { PLATFORMS } from '../connect/store/connection.ts'
import { timeOf } from '../connect/store/fields.ts'
import type { Receiver } from '../connect/store/receive.ts'
import { isSignature, isSignedBy } from '../connect/store/signature.ts'
import { fail } from '../errors.ts'
import { type Request, refuseEncoding, refuseLength } from './request.ts'
import type { Route } from './route.ts'

/** Orders with hundreds of lines stay below it. */
const WEBHOOK_BYTES = 2 * 1024 * 1024
/** So much of a body is received: who signed it is said before its length is. */
const MOST_BYTES = 2 * WEBHOOK_BYTES

const SHOP = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/
const TOPIC = /^[a-z_]{1,60}\/[a-z_]{1,60}$/
const ID = /^[\x21-\x7e]{1,128}$/

/** Hashes the bodies for shops that are not connected: leaving it out would tell, by the time it takes, which are. */
const SECRET_OF_NOBODY = randomBytes(32).toString('base64')

/** Where the store platform sends its webhooks, answered after the commit. */
export function storeRoutes(receiver: Receiver, room: RoomLimits): Route[] {
  const inRoom = createRoom(room)
  return [
    {
      path: '/store/{platform}/webhooks',
      surface: 'webhook',
      bodyLimit: MOST_BYTES,
      encodings: 'handler',
      tooLarge: unsigned,
      methods: {
        POST: {
          async admit(request) {
            const { platform = '' } = request.params
            if (!PLATFORMS.some((known) => known === platform))
              throw fail('not_found', `platform must be one of ${PLATFORMS.join(', ')}`)
            const sent = headersOf(request, platform)
            const connection = await receiver.find(platform, sent.shopDomain)
            return async (delivered) => {
              const { body } = delivered
              // Answered like a wrong signature, and no sooner: nobody learns which shops are connected.
              const secret = connection?.webhookSecret ?? SECRET_OF_NOBODY
              if (!isSignedBy(body, sent.signature, secret) || !connection) throw unsigned()
              refuseEncoding(delivered, 'unsupported_media_type')
              refuseLength(delivered, WEBHOOK_BYTES)
              const outcome = await inRoom(connection.brandId, body.length, () =>
                receiver.receive(connection, { ...sent, body }),
              )
              return { status: 200, body: outcome }
            }
          },
        },
      },
    },
  ]
}

const unsigned = () =>
  fail('unauthorized', 'The signature is not that of this body with the secret of this store')

function headersOf(request: Request, platform: string) {
  const header = (name: string) => request.header(`x-${platform}-${name}`)
  const required = (name: string, pattern: RegExp, what: string) => {
    const value = header(name)
    if (value === undefined || !pattern.test(value))
      throw fail('bad_request', `X-${title(platform)}-${title(name)} must be ${what}`)
    return value
  }
  const signature = header('hmac-sha256')
  if (!isSignature(signature))
    throw fail('unauthorized', `X-${title(platform)}-Hmac-Sha256 must be the signature of the body in base64`)
  const triggered = header('triggered-at')
  const received = Date.now()
  const time = triggered === undefined ? received : timeOf(triggered)
  if (Number.isNaN(time))
    throw fail('bad_request', `X-${title(platform)}-Triggered-At must be an ISO 8601 time`)
  return {
    signature,
    shopDomain: required('shop-domain', SHOP, 'the domain of the shop'),
    topic: required('topic', TOPIC, 'a topic such as orders/create'),
    webhookId: required('webhook-id', ID, 'an id of at most 128 characters'),
    // Nothing signs it: of two words the later counts, and none is later than now.
    triggeredAt: new Date(Math.min(time, received)).toISOString(),
    receivedAt: new Date(received).toISOString(),
  }
}

const title = (words: string) => words.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())
